// Package ui is the output for people and programs: streams, progress in three
// forms, and data as table, JSON or YAML.
package ui

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/printable"
)

// Streams are the three standard streams of one run of the program. Out and Err that are
// terminals show what is written as text: commands to the terminal go by printable.Raw.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
	// Terminal reports whether Err is a terminal, on which progress can be redrawn in
	// place.
	Terminal bool
	// Width is the terminal's width in columns, 0 if unknown.
	Width int
	// Events receives the progress too, whatever --progress says; nil means nobody.
	Events event.Sink
}

// SystemStreams returns the streams of the process.
func SystemStreams() Streams {
	fd := int(os.Stderr.Fd())
	s := Streams{In: os.Stdin, Out: shown(os.Stdout), Err: shown(os.Stderr), Terminal: term.IsTerminal(fd)}
	if width, _, err := term.GetSize(fd); err == nil {
		s.Width = width
	}
	return s
}

// shown is a file, or the screen of one that is a terminal.
func shown(file *os.File) io.Writer {
	if term.IsTerminal(int(file.Fd())) {
		return printable.NewScreen(file)
	}
	return file
}
