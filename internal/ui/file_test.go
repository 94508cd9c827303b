package ui_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/slipway-sh/slipway/internal/ui"
)

func says(text string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
}

func TestAFileIsWrittenWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	for _, text := range []string{"first", "second"} {
		if err := ui.WriteFile(path, 0o640, says(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("the file has %q, %v", got, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o640 {
		t.Errorf("the file's mode is %v, %v", info.Mode(), err)
	}
	full := errors.New("no space")
	err := ui.WriteFile(path, 0o640, func(w io.Writer) error { return errors.Join(says("half")(w), full) })
	if got, _ := os.ReadFile(path); !errors.Is(err, full) || string(got) != "second" {
		t.Errorf("after half a file: %q, %v", got, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("left over: %v, %v", entries, err)
	}
	if err := ui.WriteFile(filepath.Join(path, "below"), 0o600, says("x")); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("below a file: %v", err)
	}
}

// A pipe stands for /dev/null, which a test must not lose.
func TestWhatIsNoFileIsWrittenInto(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(filepath.Dir(path), "link") // as /dev/stdout is one
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, link} {
		got := make(chan string, 1)
		go func() {
			text, _ := os.ReadFile(path)
			got <- string(text)
		}()
		if err := ui.WriteFile(name, 0o600, says("through")); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(path); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
			t.Fatalf("in place of the pipe is %v, %v", info.Mode(), err)
		}
		if text := <-got; text != "through" {
			t.Errorf("the reader got %q", text)
		}
	}
}
