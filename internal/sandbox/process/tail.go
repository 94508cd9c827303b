package process

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// maxTail is how much of a log is read at most.
const maxTail = 4 << 20

// Tail returns the last lines of a log, all when lines is 0; a file that does not
// exist is empty.
func Tail(path string, lines int) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading a log: %w", err)
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return "", fmt.Errorf("reading a log: %w", err)
	}
	text := make([]byte, min(size, maxTail))
	if _, err := f.ReadAt(text, size-int64(len(text))); err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("reading a log: %w", err)
	}
	if lines <= 0 {
		return string(text), nil
	}
	all := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], ""), nil
}
