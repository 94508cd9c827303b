package devstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Items are the items of the bundle that the plugin uses.
func (s Settings) Items() []string {
	var names []string
	components := component.SeedComponents()
	if s.Mode == Kind {
		components = component.LocalSeedComponents()
	}
	for _, c := range components {
		if c.Kind == bundle.Manifest || s.Mode == Kind || s.Mode == K3s && (c.Kind == bundle.Image || c.Name == "k3s") {
			names = append(names, c.Name)
		}
	}
	if s.Mode == K3s {
		names = append(names, "coredns", "pause")
	}
	for _, c := range component.All() {
		if c.Kind == bundle.Chart {
			names = append(names, c.Name)
		}
	}
	if s.Image.URL == "" {
		names = append(names, "node")
	}
	slices.Sort(names)
	return names
}

// Missing are the items that the bundle lacks; all of them where there is no bundle.
func (s Settings) Missing() ([]string, error) {
	folder, err := bundle.Open(s.Bundle)
	if errors.Is(err, bundle.ErrNone) {
		return s.Items(), nil
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(s.Items(), func(name string) bool { return folder.Bill().Item(name) != nil }), nil
}

// Equip compares every byte that is used with its digest, and copies out of the bundle
// what runs on the host (row D-09). Nothing is fetched.
func (s Settings) Equip(ctx context.Context, sink event.Sink) error {
	missing, err := s.Missing()
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return fault.New("bundle "+s.Bundle, fmt.Errorf("it lacks %s", strings.Join(missing, ", ")),
			"set SLIPWAY_BUNDLE_DIR to a complete bundle, or run slipway bundle ensure --dir "+s.Bundle)
	}
	folder, err := bundle.Open(s.Bundle)
	if err != nil {
		return err
	}
	findings, err := folder.Verify(ctx, sink, s.Items()...)
	if err != nil {
		return err
	}
	var wrong []error
	for _, finding := range findings {
		wrong = append(wrong, finding.Fault())
	}
	if err := errors.Join(append(wrong, s.Mark())...); err != nil || s.Mode != K3s {
		return err
	}
	return errors.Join(s.copyK3s(folder), s.archive(ctx, folder))
}

// copyK3s copies the program: a bundle may be on a file system that runs nothing.
func (s Settings) copyK3s(folder *bundle.Folder) error {
	from, err := os.Open(folder.Blob(folder.Bill().Item("k3s").SHA256))
	if err != nil {
		return fmt.Errorf("copying k3s: %w", err)
	}
	defer from.Close()
	return place(s.K3sProgram(), 0o755, func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	})
}

// archive writes the container images for k3s. It is not written again while the images
// are the same.
func (s Settings) archive(ctx context.Context, folder *bundle.Folder) error {
	var images []bundle.Item
	var digests strings.Builder
	for _, name := range s.Items() {
		if item := folder.Bill().Item(name); item.Kind == bundle.Image {
			images = append(images, *item)
			fmt.Fprintf(&digests, "%s  %s\n", item.SHA256, name)
		}
	}
	const list = "images.sha256"
	if old, err := os.ReadFile(s.path(list)); err == nil && string(old) == digests.String() {
		if _, err := os.Stat(s.ImageArchive()); err == nil {
			return nil
		}
	}
	err := place(s.ImageArchive(), 0o600, func(w io.Writer) error { return folder.WriteImageArchive(ctx, w, images) })
	if err != nil {
		return err
	}
	return s.Write(list, digests.String())
}

// place writes a file whole or not at all.
func place(path string, mode os.FileMode, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer os.Remove(file.Name())
	err = errors.Join(write(file), file.Chmod(mode), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
