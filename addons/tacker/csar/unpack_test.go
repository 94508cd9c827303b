package csar

import (
	"archive/zip"
	"bytes"
	"strings"
	"testing"
)

// TestUnpackingEnds: neither one file nor all of them together grow without end.
func TestUnpackingEnds(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range []string{"a", "b", "c"} {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write(make([]byte, 1000))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		most, left int64
		wrong      string
	}{
		"all fit":           {1000, 3000, ""},
		"a file is too big": {999, 3000, "file a: it has more than 999 bytes"},
		"all are too big":   {1000, 2999, "file c: up to it"},
		"the second is":     {1000, 1000, "file b: up to it"},
	} {
		files, err := unpackWithin(b.Bytes(), test.most, test.left)
		switch {
		case test.wrong == "" && (err != nil || len(files) != 3):
			t.Errorf("%s: %d files, %v", name, len(files), err)
		case test.wrong != "" && (err == nil || !strings.Contains(err.Error(), test.wrong) || strings.Contains(err.Error(), "%!")):
			t.Errorf("%s: %v", name, err)
		}
	}
}
