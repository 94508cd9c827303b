package source

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/compression"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/slipway-sh/slipway/internal/component"
)

// The bases of images. What most images hold is one static program: it needs
// only certificates, users and a folder for temporary files.
const (
	baseStatic  = "base-static"
	baseNetwork = "base-network"
	baseStorage = "base-storage"
)

// nonRoot is the user that distroless images call nonroot.
const nonRoot = "65532"

// container is a container image: the layers of a base and one layer of files.
type container struct {
	plain
	// Base is the recipe of a base, "" for none.
	Base string
	// Layers are recipes of more layers over it, as tar archives.
	Layers []string `json:",omitempty"`
	// Files maps paths in the image to the recipes whose results lie there, as
	// programs; Data does so for what is only read.
	Files      map[string]string
	Data       map[string]string `json:",omitempty"`
	Entrypoint []string
	Cmd        []string
	User       string
}

func (c container) needs() []string {
	needs := slices.AppendSeq(slices.Collect(maps.Values(c.Files)), maps.Values(c.Data))
	slices.Sort(needs)
	if c.Base != "" {
		needs = append(needs, c.Base)
	}
	return append(needs, c.Layers...)
}

func (c container) make(_ context.Context, j *job) (output, error) {
	layers, err := c.layers(j)
	if err != nil {
		return output{}, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.AppendLayers(image, layers...)
	if err != nil {
		return output{}, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return output{}, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, _ = strings.Cut(platform(), "/")
	file.Config = c.config(j.name)
	image, err = mutate.ConfigFile(image, file)
	return output{image: image, source: c.source(j), packages: j.inputs[c.Base].packages, contains: c.needs()}, err
}

func (c container) config(name string) v1.Config {
	component, _ := component.Find(name)
	return v1.Config{
		Env:        []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		Entrypoint: c.Entrypoint, Cmd: c.Cmd, User: c.User, WorkingDir: "/",
		Labels: map[string]string{
			"org.opencontainers.image.title":    name,
			"org.opencontainers.image.version":  component.Version,
			"org.opencontainers.image.licenses": component.License,
		},
	}
}

func (c container) layers(j *job) ([]v1.Layer, error) {
	var layers []v1.Layer
	below := c.Layers
	if c.Base != "" {
		below = append([]string{c.Base}, below...)
	}
	for _, name := range below {
		layer, err := layerOf(func() (io.ReadCloser, error) { return os.Open(j.input(name)) })
		if err != nil {
			return nil, fmt.Errorf("layer of %s: %w", name, err)
		}
		layers = append(layers, layer)
	}
	layer, err := layerOf(func() (io.ReadCloser, error) { return c.stream(j), nil })
	if err != nil {
		return nil, fmt.Errorf("layer of files: %w", err)
	}
	return append(layers, layer), nil
}

// layerOf compresses with zstd: nodes unpack it several times faster than gzip.
func layerOf(open tarball.Opener) (v1.Layer, error) {
	return tarball.LayerFromOpener(open, tarball.WithCompression(compression.ZStd), tarball.WithMediaType(types.OCILayerZStd))
}

// stream writes the layer of files, each with its folders, in a fixed order.
func (c container) stream(j *job) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		tw := tar.NewWriter(w)
		made := map[string]bool{}
		for _, name := range slices.Sorted(maps.Keys(c.Files)) {
			if err := addFile(tw, made, name, j.input(c.Files[name]), 0o755); err != nil {
				w.CloseWithError(err)
				return
			}
		}
		for _, name := range slices.Sorted(maps.Keys(c.Data)) {
			if err := addFile(tw, made, name, j.input(c.Data[name]), 0o644); err != nil {
				w.CloseWithError(err)
				return
			}
		}
		w.CloseWithError(tw.Close())
	}()
	return r
}

// addFile writes one file and the folders above it.
func addFile(tw *tar.Writer, made map[string]bool, name, file string, mode int64) error {
	name = strings.TrimPrefix(name, "/")
	if err := addFolders(tw, made, path.Dir(name)); err != nil {
		return err
	}
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if err := tw.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: info.Size(), Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err = io.Copy(tw, in)
	return err
}

func addFolders(tw *tar.Writer, made map[string]bool, dir string) error {
	if dir == "." || made[dir] {
		return nil
	}
	if err := addFolders(tw, made, path.Dir(dir)); err != nil {
		return err
	}
	made[dir] = true
	return tw.WriteHeader(&tar.Header{Name: dir + "/", Mode: 0o755, Typeflag: tar.TypeDir})
}

// source names where the program inside comes from.
func (c container) source(j *job) string {
	if len(c.Files) == 0 {
		return "debian " + j.builder.options.DebianSuite
	}
	var sources []string
	for _, need := range slices.Sorted(maps.Values(c.Files)) {
		if p, ok := j.builder.recipes[need].(interface{ source() string }); ok {
			sources = append(sources, p.source())
		}
	}
	return strings.Join(sources, ", ")
}

// componentRef is the image reference of a component.
func componentRef(name string) string {
	component, _ := component.Find(name)
	return component.Ref
}
