package objectstore

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// broken gives some bytes and then fails.
type broken struct{ first io.Reader }

func (b broken) Read(p []byte) (int, error) {
	n, err := b.first.Read(p)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func count(t *testing.T, dir string) (n int) {
	t.Helper()
	_ = filepath.WalkDir(dir, func(_ string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			n++
		}
		return nil
	})
	return n
}

func TestWriteIsWholeOrNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		from  io.Reader
		limit int64
		fails bool
	}{
		"whole":     {strings.NewReader("hello"), 5, false},
		"cut short": {broken{strings.NewReader("hel")}, 5, true},
		"too long":  {strings.NewReader("hello!"), 5, true},
	} {
		f := files{t.TempDir()}
		size, etag, err := f.write("ab-1", test.from, test.limit)
		if (err != nil) != test.fails {
			t.Errorf("%s: %v", name, err)
		}
		if !test.fails && (size != 5 || etag != "5d41402abc4b2a76b9719d911017c592") {
			t.Errorf("%s: %d bytes, ETag %s", name, size, etag)
		}
		if left := count(t, f.dir); test.fails && left != 0 || !test.fails && left != 1 {
			t.Errorf("%s: %d files", name, left)
		}
	}
}

func TestSweep(t *testing.T) {
	t.Parallel()
	f := files{t.TempDir()}
	if err := (files{filepath.Join(f.dir, "missing")}).sweep(nil); err != nil {
		t.Errorf("without a folder: %v", err)
	}
	for _, id := range []string{"ab-known", "ab-orphan"} {
		if _, _, err := f.write(id, strings.NewReader("x"), 9); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(f.path("ab-known")+unfinished, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.sweep(func(id string) bool { return id == "ab-known" }); err != nil {
		t.Fatal(err)
	}
	if n := count(t, f.dir); n != 1 {
		t.Errorf("%d files are left, want the one that is known", n)
	}
}

func TestSegmentRange(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		offset, length int64
		fails          bool
	}{"0-9": {0, 10, false}, "5-": {5, 95, false}, "-20": {80, 20, false}, "90-500": {90, 10, false}, "100-": {0, 0, true}, "9-5": {0, 0, true}, "x": {0, 0, true}} {
		offset, length, problem := segmentRange(text, 100)
		if offset != want.offset || length != want.length || (problem != "") != want.fails {
			t.Errorf("%s: %d, %d, %q", text, offset, length, problem)
		}
	}
}

func TestReferrers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		referer, list string
		allowed       bool
	}{
		{"", ".r:*", true}, {"", ".r:example.com", false}, {"https://example.com/x", ".r:example.com", true},
		{"https://a.example.com/", ".r:*.example.com", true}, {"https://a.example.com/", ".r:.example.com", true},
		{"https://evil.com/", ".r:*,.r:-evil.com", false}, {"https://fine.com/", ".r:*,.r:-evil.com", true}, {"", "", false},
	} {
		if got := referred(test.referer, split(test.list)); got != test.allowed {
			t.Errorf("%q with %q: %t", test.referer, test.list, got)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]place{
		"/object-store/v1/AUTH_p":               {"p", "", ""},
		"/object-store/v1/AUTH_p/c/":            {"p", "c", ""},
		"/object-store/v1/AUTH_p/c/a%2Fb//c%20": {"p", "c", "a/b//c "},
	} {
		if got, err := parse(path); err != nil || got != want {
			t.Errorf("%s: %v, %v", path, got, err)
		}
	}
	for _, path := range []string{"/object-store/v2/AUTH_p", "/object-store/v1/p", "/object-store/v1/AUTH_p/a%2Fb/c", "/object-store/v1/AUTH_p/c/%ff",
		"/object-store/v1/AUTH_p/c/" + strings.Repeat("x", 1025), "/object-store"} {
		if got, err := parse(path); err == nil {
			t.Errorf("%s is %v", path, got)
		}
	}
}
