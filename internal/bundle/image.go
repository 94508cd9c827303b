package bundle

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// The annotations by which containerd and k3s name an imported image, and
// which other tools show.
const (
	annotationContainerd = "io.containerd.image.name"
	annotationRef        = "org.opencontainers.image.ref.name"
)

const layoutText = `{"imageLayoutVersion":"1.0.0"}`

// PutImage stores an image's layers, configuration and manifest as blobs and
// returns the digest of the manifest with the size of all of them.
func (f *Folder) PutImage(ctx context.Context, image v1.Image) (Digest, error) {
	layers, err := image.Layers()
	if err != nil {
		return Digest{}, err
	}
	for _, layer := range layers {
		if err := f.putLayer(ctx, layer); err != nil {
			return Digest{}, err
		}
	}
	total := int64(0)
	config, err := image.RawConfigFile()
	if err != nil {
		return Digest{}, err
	}
	if _, err := f.Put(ctx, bytes.NewReader(config)); err != nil {
		return Digest{}, err
	}
	raw, err := image.RawManifest()
	if err != nil {
		return Digest{}, err
	}
	manifest, err := image.Manifest()
	if err != nil {
		return Digest{}, err
	}
	for _, layer := range append(manifest.Layers, manifest.Config) {
		total += layer.Size
	}
	d, err := f.Put(ctx, bytes.NewReader(raw))
	d.Size = total + int64(len(raw))
	return d, err
}

func (f *Folder) putLayer(ctx context.Context, layer v1.Layer) error {
	digest, err := layer.Digest()
	if err != nil {
		return err
	}
	size, err := layer.Size()
	if err != nil {
		return err
	}
	if f.Has(Digest{digest.Hex, size}) {
		return nil
	}
	r, err := layer.Compressed()
	if err != nil {
		return err
	}
	defer r.Close()
	stored, err := f.Put(ctx, r)
	if err == nil && stored.SHA256 != digest.Hex {
		err = fmt.Errorf("layer sha256:%s arrived as sha256:%s", digest.Hex, stored.SHA256)
	}
	return err
}

// Image returns a stored image.
func (f *Folder) Image(item Item) (v1.Image, error) {
	path, err := layout.FromPath(f.dir)
	if err != nil {
		return nil, err
	}
	return path.Image(v1.Hash{Algorithm: "sha256", Hex: item.SHA256})
}

// Manifest reads the manifest of an image item: its bytes, of which the item has
// the digest, and what they say.
func (f *Folder) Manifest(item Item) (raw []byte, manifest *v1.Manifest, err error) {
	raw, err = os.ReadFile(f.Blob(item.SHA256))
	if err != nil {
		return nil, nil, err
	}
	manifest, err = v1.ParseManifest(bytes.NewReader(raw))
	return raw, manifest, err
}

// blobs are the digests that an item stands for: its file, or the manifest,
// configuration and layers of an image.
func (f *Folder) blobs(item Item) ([]Digest, error) {
	if item.Kind != Image {
		return []Digest{{item.SHA256, item.Size}}, nil
	}
	raw, manifest, err := f.Manifest(item)
	if err != nil {
		return nil, err
	}
	blobs := []Digest{{item.SHA256, int64(len(raw))}, {manifest.Config.Digest.Hex, manifest.Config.Size}}
	for _, layer := range manifest.Layers {
		blobs = append(blobs, Digest{layer.Digest.Hex, layer.Size})
	}
	return blobs, nil
}

// index is the OCI image index over some image items. An image whose manifest
// is gone is left out; Verify reports it.
func (f *Folder) index(items []Item) ([]byte, error) {
	index := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{}}
	for _, item := range items {
		if item.Kind != Image {
			continue
		}
		raw, manifest, err := f.Manifest(item)
		if err != nil {
			continue
		}
		index.Manifests = append(index.Manifests, v1.Descriptor{
			MediaType:   manifest.MediaType,
			Size:        int64(len(raw)),
			Digest:      v1.Hash{Algorithm: "sha256", Hex: item.SHA256},
			Annotations: map[string]string{annotationContainerd: item.Ref, annotationRef: item.Ref},
		})
	}
	return json.Marshal(index)
}

func (f *Folder) writeIndex() error {
	text, err := f.index(f.bill.Items)
	if err != nil {
		return err
	}
	if err := f.writeFile(layoutFile, []byte(layoutText)); err != nil {
		return err
	}
	return f.writeFile(indexFile, text)
}

// WriteImageArchive writes the images as one OCI archive (a tar of an OCI
// layout), which `ctr images import` and k3s' agent/images folder take. Layers
// that images share are written once.
func (f *Folder) WriteImageArchive(ctx context.Context, w io.Writer, images []Item) error {
	tw := tar.NewWriter(w)
	index, err := f.index(images)
	if err != nil {
		return err
	}
	// In this order each time: equal images give equal bytes, so that a copy that was
	// interrupted can go on where it stopped.
	for _, file := range [][2]string{{layoutFile, layoutText}, {indexFile, string(index)}} {
		if err := tw.WriteHeader(&tar.Header{Name: file[0], Mode: 0o644, Size: int64(len(file[1]))}); err != nil {
			return err
		}
		if _, err := io.WriteString(tw, file[1]); err != nil {
			return err
		}
	}
	err = f.eachBlob(images, func(blob Digest) error { return f.copyBlob(ctx, tw, blob) })
	if err != nil {
		return err
	}
	return tw.Close()
}

// WriteImageLayout writes the images as an OCI layout into a folder, which it makes. Layers that
// images share are written once.
func (f *Folder) WriteImageLayout(ctx context.Context, dir string, images []Item) error {
	index, err := f.index(images)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, blobDir), 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{layoutFile: layoutText, indexFile: string(index)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return f.eachBlob(images, func(blob Digest) error {
		from, err := os.Open(f.Blob(blob.SHA256))
		if err != nil {
			return err
		}
		defer from.Close()
		to, err := os.OpenFile(filepath.Join(dir, blobDir, blob.SHA256), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
		if err != nil {
			return err
		}
		_, err = io.Copy(to, contextReader{ctx, from})
		return errors.Join(err, to.Close())
	})
}

// eachBlob does something with each blob of images once.
func (f *Folder) eachBlob(images []Item, do func(Digest) error) error {
	done := map[string]bool{}
	for _, item := range images {
		blobs, err := f.blobs(item)
		if err != nil {
			return fmt.Errorf("reading image %s: %w", item.Name, err)
		}
		for _, blob := range blobs {
			if done[blob.SHA256] {
				continue
			}
			done[blob.SHA256] = true
			if err := do(blob); err != nil {
				return fmt.Errorf("writing image %s: %w", item.Name, err)
			}
		}
	}
	return nil
}

func (f *Folder) copyBlob(ctx context.Context, tw *tar.Writer, blob Digest) error {
	file, err := os.Open(f.Blob(blob.SHA256))
	if err != nil {
		return err
	}
	defer file.Close()
	header := &tar.Header{Name: blobDir + "/" + blob.SHA256, Mode: 0o644, Size: blob.Size}
	if err := tw.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(tw, contextReader{ctx, file})
	return err
}
