package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// module is a version of a Go module, with the sum that its content has to
// have: the checksum database does not know every one.
type module struct{ path, version, sum string }

// folder is a name for it that changes with the version.
func (m module) folder(dir string) string {
	name := path.Base(m.path)
	if strings.HasPrefix(name, "v") {
		name = path.Base(path.Dir(m.path))
	}
	return filepath.Join(dir, name+"-"+m.version)
}

// source returns a folder below dir with the module's source. It is a copy:
// the module's own replacements hold only for a main module, and go test writes
// beside what it tests.
func (m module) source(ctx context.Context, dir string) (string, error) {
	folder := m.folder(dir)
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	cached, err := m.download(ctx)
	if err != nil {
		return "", fmt.Errorf("fetching %s: %w", m.path, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	half, err := os.MkdirTemp(dir, "half-")
	if err != nil {
		return "", err
	}
	if err := copyTree(half, cached); err != nil {
		return "", errors.Join(fmt.Errorf("copying %s: %w", m.path, err), os.RemoveAll(half))
	}
	return folder, os.Rename(half, folder)
}

// copyTree copies files that may be read only into a folder that is there; the
// copies can be changed.
func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(to, relative), 0o755)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, relative), content, 0o644)
	})
}

// program returns the path of a program of the module, dir/name, built if it
// is not yet of this version.
func (m module) program(ctx context.Context, dir, name, pkg string) (string, error) {
	source, err := m.source(ctx, dir)
	if err != nil {
		return "", err
	}
	program, stamp := filepath.Join(dir, name), filepath.Join(dir, name+".version")
	if of, err := os.ReadFile(stamp); err == nil && string(of) == m.version {
		return program, nil
	}
	fmt.Println("building", name, m.version, "from source")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, pkg)
	cmd.Dir, cmd.Stdout, cmd.Stderr = source, os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("building %s: %w", m.path, err)
	}
	return program, os.WriteFile(stamp, []byte(m.version), 0o644)
}

// download returns the folder of the module in Go's cache.
func (m module) download(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", m.path+"@"+m.version)
	cmd.Dir = os.TempDir() // no module of ours has a say
	cmd.Env = append(os.Environ(), "GONOSUMDB="+m.path, "GOFLAGS=")
	out, err := cmd.Output()
	var told struct{ Dir, Sum, Error string }
	if wrong := json.Unmarshal(out, &told); wrong != nil {
		return "", errors.Join(err, wrong)
	}
	switch {
	case told.Error != "":
		return "", errors.New(told.Error)
	case told.Sum != m.sum:
		return "", fmt.Errorf("its sum is %s, want %s", told.Sum, m.sum)
	}
	return told.Dir, nil
}
