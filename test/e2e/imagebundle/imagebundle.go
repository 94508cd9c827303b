// Package imagebundle makes bundles of images for tests: of programs that are in no module, so that
// `slipway bundle build` has no recipe for them.
package imagebundle

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/slipway-sh/slipway/internal/bundle"
)

// Image is one image of a bundle.
type Image struct {
	// Ref is what manifests name, with the version as its tag.
	Ref, Version string
	// Base is an archive of a root file system; empty for none.
	Base string
	// Files are files and folders of this host, by their paths in the image, where they begin
	// with a slash.
	Files map[string]string
	// Links are symbolic links: the path in the image, and where it leads.
	Links map[string]string
	// Writable are folders that everybody may write to.
	Writable []string
	// Entrypoint and Command are the image's, as are User and Env, which has a path already.
	Entrypoint, Command []string
	User                string
	Env                 []string
}

// Write makes a bundle with these images in a folder.
func Write(ctx context.Context, dir string, images ...Image) error {
	folder, err := bundle.Create(dir, "linux/amd64")
	if err != nil {
		return err
	}
	defer folder.Close()
	for _, image := range images {
		if err := image.put(ctx, folder); err != nil {
			return fmt.Errorf("image %s: %w", image.Ref, err)
		}
	}
	return nil
}

func (i Image) put(ctx context.Context, folder *bundle.Folder) error {
	image, err := i.build()
	if err != nil {
		return err
	}
	digest, err := folder.PutImage(ctx, image)
	if err != nil {
		return err
	}
	return folder.Record(bundle.Item{Name: path.Base(i.Ref), Kind: bundle.Image, Version: i.Version, License: "Apache-2.0", Source: "what the test was given",
		Ref: i.Ref + ":" + i.Version, SHA256: digest.SHA256, Size: digest.Size})
}

func (i Image) build() (v1.Image, error) {
	var layers []v1.Layer
	if i.Base != "" {
		layer, err := tarball.LayerFromFile(i.Base)
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	text, err := i.archive()
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil })
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), append(layers, layer)...)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", "amd64"
	config.Config = v1.Config{Entrypoint: i.Entrypoint, Cmd: i.Command, User: i.User,
		Env: append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, i.Env...)}
	return mutate.ConfigFile(image, config)
}

// archive has the files, folders and links, in an order that stays.
func (i Image) archive() ([]byte, error) {
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	for _, to := range slices.Sorted(maps.Keys(i.Files)) {
		if err := add(w, to, i.Files[to]); err != nil {
			return nil, err
		}
	}
	for _, name := range i.Writable {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name[1:] + "/", Mode: 0o777}); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(i.Links)) {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name[1:], Linkname: i.Links[name], Mode: 0o777}); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), w.Close()
}

// add writes a file, or all of a folder.
func add(w *tar.Writer, to, from string) error {
	return filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		below, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: path.Join(to, filepath.ToSlash(below))[1:], Mode: int64(info.Mode().Perm()), Size: int64(len(text))}); err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	})
}
