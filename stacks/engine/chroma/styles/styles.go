// Package styles knows no style: see package chroma.
package styles

import "github.com/alecthomas/chroma/v2"

// Registry is empty.
var Registry = map[string]*chroma.Style{}

// Register keeps nothing.
func Register(style *chroma.Style) *chroma.Style { return style }
