package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// image makes one OCI archive with the program for each architecture of Linux,
// and Mozilla's authorities: an image from scratch has none, and the clouds'
// certificates could not be verified.
func (r *release) image(context.Context) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range r.linux() {
		image, err := r.imageOf(p)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: p.os, Architecture: p.arch}}})
	}
	top := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{Add: index, Descriptor: v1.Descriptor{
		MediaType: types.OCIImageIndex, Annotations: map[string]string{"org.opencontainers.image.ref.name": r.version}}})
	dir := filepath.Join(r.work, "image")
	if _, err := layout.Write(dir, top); err != nil {
		return err
	}
	return r.archiveFolder(dir, r.file("_image.oci.tar"))
}

func (r *release) imageOf(p platform) (v1.Image, error) {
	files, err := r.layer(p)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{Layer: layer, History: v1.History{CreatedBy: "slipway's release", Created: v1.Time{Time: r.source.time}}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = p.os, p.arch, v1.Time{Time: r.source.time}
	config.Config = v1.Config{User: "65532:65532", WorkingDir: "/work", Entrypoint: []string{"/usr/bin/" + r.program},
		Env: []string{"PATH=/usr/bin", "HOME=/work"},
		Labels: map[string]string{"org.opencontainers.image.version": r.version, "org.opencontainers.image.revision": r.source.commit,
			"org.opencontainers.image.source": "https://github.com/slipway-sh/slipway", "org.opencontainers.image.licenses": "Apache-2.0"}}
	return mutate.ConfigFile(image, config)
}

// layer is the file system of an image.
func (r *release) layer(p platform) ([]byte, error) {
	var authorities bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil { // one that cannot be written as PEM
			continue
		}
		if err := pem.Encode(&authorities, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	var layer bytes.Buffer
	tw := tar.NewWriter(&layer)
	for _, dir := range []struct {
		name string
		mode int64
		user int
	}{{"etc/", 0o755, 0}, {"etc/ssl/", 0o755, 0}, {"etc/ssl/certs/", 0o755, 0}, {"tmp/", 0o1777, 0}, {"usr/", 0o755, 0}, {"usr/bin/", 0o755, 0}, {"work/", 0o700, 65532}} {
		h := r.header(dir.name, dir.mode, 0)
		h.Typeflag, h.Uid, h.Gid = tar.TypeDir, dir.user, dir.user
		if err := tw.WriteHeader(h); err != nil {
			return nil, err
		}
	}
	err := errors.Join(r.addBytes(tw, "etc/ssl/certs/ca-certificates.crt", authorities.Bytes()), r.addFile(tw, "usr/bin/"+r.program, r.binaries[p]), tw.Close())
	return layer.Bytes(), err
}

// archiveFolder packs a folder in the order of its names.
func (r *release) archiveFolder(dir, target string) (err error) {
	file, err := os.Create(target)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	tw := tar.NewWriter(file)
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return r.addBytes(tw, filepath.ToSlash(name), content)
	})
	return errors.Join(err, tw.Close())
}
