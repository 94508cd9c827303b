package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// unitFolders are where units are: Slipway's own, and those of packages.
func unitFolders() []string {
	return []string{"/etc/systemd/system", "/lib/systemd/system", "/usr/lib/systemd/system"}
}

// findUnit reads the file of a unit, and says where it is in the machine.
func findUnit(root, name string) (path, text string, err error) {
	for _, folder := range unitFolders() {
		path = folder + "/" + name
		content, err := os.ReadFile(filepath.Join(root, path))
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return path, string(content), err
		}
	}
	return "", "", fmt.Errorf("%s: %w", name, fs.ErrNotExist)
}

// enable links units into their targets, as `systemctl enable` would: the
// units say where in [Install].
func (m machine) enable(_ context.Context, _ *job, root string) error {
	for _, unit := range m.Enable {
		file := unit
		if name, _, isInstance := strings.Cut(unit, "@"); isInstance {
			file = name + "@.service"
		}
		path, text, err := findUnit(root, file)
		if err != nil {
			return err
		}
		_, target, found := strings.Cut(text, "\nWantedBy=")
		if !found {
			return fmt.Errorf("%s: no WantedBy", unit)
		}
		target, _, _ = strings.Cut(target, "\n")
		wants := filepath.Join(root, "etc/systemd/system", target+".wants")
		if err := os.MkdirAll(wants, 0o755); err != nil {
			return err
		}
		if err := replaceByLink(filepath.Join(wants, unit), path); err != nil {
			return err
		}
	}
	return nil
}
