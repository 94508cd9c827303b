package process_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/sandbox/process"
)

// kept is how many bytes of a file are not the hole at its beginning.
func kept(t *testing.T, path string) int64 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	begin, err := f.Seek(0, unix.SEEK_DATA)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size() - begin
}

// TestALogThatGrows keeps its end and not much more on the disk, while somebody writes to it.
func TestALogThatGrows(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "console.log")
	if err := process.KeepEnd(path); err != nil {
		t.Errorf("without a log: %v", err)
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	write := func(text string) {
		t.Helper()
		if _, err := log.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	write("begin\n")
	if err := unix.Fallocate(int(log.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 1<<20, 1); errors.Is(err, unix.EOPNOTSUPP) {
		t.Skip("this file system makes no holes")
	}
	part := strings.Repeat(strings.Repeat("x", 1023)+"\n", 1024)
	write(part)
	if err := process.KeepEnd(path); err != nil {
		t.Fatal(err)
	}
	if all, err := process.Tail(path, 0); err != nil || !strings.HasPrefix(all, "begin\n") {
		t.Errorf("a short log lost its beginning: %v", err)
	}
	for range 40 {
		write(part)
		if err := process.KeepEnd(path); err != nil {
			t.Fatal(err)
		}
		if has := kept(t, path); has > 10<<20 {
			t.Fatalf("the log keeps %d bytes", has)
		}
	}
	write("last\n")
	if end, err := process.Tail(path, 2); err != nil || end != strings.Repeat("x", 1023)+"\nlast" {
		t.Errorf("the end is %d bytes, %v", len(end), err)
	}
	if all, err := process.Tail(path, 0); err != nil || strings.Contains(all, "\x00") || len(all) < 4<<20 {
		t.Errorf("%d bytes are read, %v", len(all), err)
	}
}
