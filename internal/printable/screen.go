package printable

import (
	"io"
	"regexp"
	"sync"
	"unicode/utf8"
)

// Screen is a terminal to which everything is text. Colors are left out, and so are the carriage
// returns before ends of lines, which consoles of machines have. What is for the terminal goes
// around it, by Raw.
type Screen struct {
	w    io.Writer
	mu   sync.Mutex
	rest []byte // the beginning of what the next Write may continue
}

// NewScreen returns the screen of a terminal.
func NewScreen(terminal io.Writer) *Screen { return &Screen{w: terminal} }

// Raw returns where commands to the terminal go: what is behind a Screen, and w itself if it is
// none.
func Raw(w io.Writer) io.Writer {
	if s, ok := w.(*Screen); ok {
		return s.w
	}
	return w
}

var (
	// without is what a screen leaves out: colors (ECMA-48, SGR), and \r before \n.
	without = regexp.MustCompile("\x1b\\[[0-9;:]*m|\r+\n")
	// begun is what one of these begins with, at the end of a piece.
	begun = regexp.MustCompile("(?:\x1b(?:\\[[0-9;:]{0,32})?|\r+)$")
)

// Write writes p as text. All of p counts as written, also what waits for the next piece: half
// a character, or half a color. Only what no next piece completes is lost.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	piece := append(s.rest, p...)
	s.rest = nil
	if n := unfinished(piece); n > 0 {
		s.rest = append(s.rest, piece[len(piece)-n:]...)
		piece = piece[:len(piece)-n]
	}
	piece = without.ReplaceAllFunc(piece, func(match []byte) []byte {
		if match[len(match)-1] == '\n' {
			return []byte("\n")
		}
		return nil
	})
	if _, err := io.WriteString(s.w, Text(string(piece))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// unfinished is how many bytes at the end of a piece wait for the next one.
func unfinished(piece []byte) int {
	if at := begun.FindIndex(piece); at != nil {
		return len(piece) - at[0]
	}
	for n := 1; n < utf8.UTFMax && n <= len(piece); n++ {
		if last := piece[len(piece)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return n
			}
			return 0
		}
	}
	return 0
}
