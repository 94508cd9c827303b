// Package glamour replaces the renderer of Markdown that Pulumi's commands import for "pulumi
// env", which Slipway does not have. The original and what it needs fill tables of HTML, CSS and
// Markdown when the program starts.
package glamour

import "github.com/charmbracelet/glamour/ansi"

// TermRendererOption is an option that has no effect.
type TermRendererOption struct{}

// WithStyles would set the looks of elements.
func WithStyles(ansi.StyleConfig) TermRendererOption { return TermRendererOption{} }

// WithColorProfile would set the colours of the terminal.
func WithColorProfile(any) TermRendererOption { return TermRendererOption{} }

// WithAutoStyle would choose the looks by the terminal.
func WithAutoStyle() TermRendererOption { return TermRendererOption{} }

// WithWordWrap would set the width of lines.
func WithWordWrap(int) TermRendererOption { return TermRendererOption{} }

// TermRenderer renders Markdown as it is.
type TermRenderer struct{}

// NewTermRenderer returns a renderer.
func NewTermRenderer(...TermRendererOption) (*TermRenderer, error) { return &TermRenderer{}, nil }

// Render returns the text.
func (*TermRenderer) Render(text string) (string, error) { return text, nil }
