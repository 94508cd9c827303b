package source

import (
	"archive/tar"
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// moduleFolder is a folder of a module as a layer of an image, below To, without what begins with
// Without.
type moduleFolder struct {
	moduleFile
	To      string
	Without []string
}

func (m moduleFolder) make(ctx context.Context, j *job) (output, error) {
	module, err := m.dir(ctx, j)
	if err != nil {
		return output{}, err
	}
	out, err := os.Create(j.path("folder.tar"))
	if err != nil {
		return output{}, err
	}
	defer out.Close()
	tw := tar.NewWriter(out)
	if err := m.write(tw, filepath.Join(module, m.Path)); err != nil {
		return output{}, err
	}
	return output{file: out.Name(), source: m.source()}, tw.Close()
}

// write walks in the order of names, so that the same folder is the same archive.
func (m moduleFolder) write(tw *tar.Writer, from string) error {
	made := map[string]bool{}
	return filepath.WalkDir(from, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(from, file)
		if err != nil || slices.ContainsFunc(m.Without, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			return err
		}
		return addFile(tw, made, path.Join(m.To, filepath.ToSlash(name)), file, 0o644)
	})
}
