package docs

import (
	"image/png"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// largestPicture keeps clones small.
const largestPicture = 100_000

var shown = regexp.MustCompile(`!\[([^\]]*)\]\(([^)\s]+)\)`)

// TestPictures: each picture that a page shows is there, small, and described for those who do
// not see it, and each that is there is shown.
func TestPictures(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, page := range pages(t) {
		for _, line := range page.Lines {
			if line.Kind == Code {
				continue
			}
			for _, found := range shown.FindAllStringSubmatch(line.Text, -1) {
				file := path.Join(path.Dir(page.Path), found[2])
				used[file] = true
				if len(strings.Fields(found[1])) < 3 {
					t.Errorf("%s:%d: %q describes no picture", page.Path, line.Number, found[1])
				}
				if wrong := drawn(filepath.Join(root, file)); wrong != nil {
					t.Errorf("%s:%d: %v", page.Path, line.Number, wrong)
				}
			}
		}
	}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(file string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".png" {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if info.Size() > largestPicture {
			t.Errorf("%s has %d bytes", file, info.Size())
		}
		if inside, err := filepath.Rel(root, file); err != nil || !used[filepath.ToSlash(inside)] {
			t.Errorf("no page shows %s", file)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if len(used) < 6 {
		t.Errorf("the pages show %d pictures", len(used))
	}
}

// drawn returns why a file is no picture.
func drawn(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = png.Decode(f)
	return err
}
