// Package quick highlights nothing: see package chroma.
package quick

import "io"

// Highlight writes the text as it is.
func Highlight(w io.Writer, source, _, _, _ string) error {
	_, err := io.WriteString(w, source)
	return err
}
