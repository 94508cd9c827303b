// Command import-images makes the images of a folder, an OCI layout, known to containerd, as `ctr
// images import` does with an archive. The folder came with a disk whose digest was checked, so
// nothing is hashed again and nothing goes through containerd's socket but names: its store gets
// links to the contents, or copies if it is on another disk.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/errdefs"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

func main() {
	address := flag.String("address", "/run/containerd/containerd.sock", "socket of containerd")
	namespace := flag.String("namespace", "k8s.io", "namespace of the images")
	root := flag.String("root", "/var/lib/containerd", "containerd's folder")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	if err := run(ctx, *address, *namespace, *root, flag.Arg(0)); err != nil {
		fmt.Fprintf(os.Stderr, "import-images: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address, namespace, root, layout string) error {
	var index ocispec.Index
	if err := readJSON(filepath.Join(layout, ocispec.ImageIndexFile), &index); err != nil {
		return err
	}
	client, err := containerd.New(address, containerd.WithDefaultNamespace(namespace))
	if err != nil {
		return fmt.Errorf("connecting to containerd: %w", err)
	}
	defer client.Close()
	// The lease keeps what no image refers to yet from the garbage collector.
	ctx, done, err := client.WithLease(ctx)
	if err != nil {
		return fmt.Errorf("getting a lease: %w", err)
	}
	defer done(ctx) //nolint:errcheck // it ends by itself
	i := importer{client, layout, filepath.Join(root, "io.containerd.content.v1.content")}
	for _, manifest := range index.Manifests {
		name := manifest.Annotations[images.AnnotationImageName]
		if err := i.add(ctx, name, manifest); err != nil {
			return fmt.Errorf("importing %s: %w", name, err)
		}
	}
	return nil
}

// importer has a client of containerd, a folder with images, and containerd's store of contents.
type importer struct {
	client        *containerd.Client
	layout, store string
}

// add brings the contents of an image, and then its name.
func (i importer) add(ctx context.Context, name string, target ocispec.Descriptor) error {
	var manifest ocispec.Manifest
	if err := readJSON(i.blob(i.layout, target.Digest), &manifest); err != nil {
		return err
	}
	for _, d := range append([]ocispec.Descriptor{target, manifest.Config}, manifest.Layers...) {
		if err := i.bring(ctx, d); err != nil {
			return fmt.Errorf("%s: %w", d.Digest, err)
		}
	}
	target.Annotations = nil
	contents := i.client.ContentStore()
	// Labels by which the garbage collector finds what a manifest refers to.
	if err := images.Walk(ctx, images.SetChildrenLabels(contents, images.ChildrenHandler(contents)), target); err != nil {
		return fmt.Errorf("setting labels: %w", err)
	}
	image := images.Image{Name: name, Target: target}
	_, err := i.client.ImageService().Create(ctx, image)
	if errdefs.IsAlreadyExists(err) {
		_, err = i.client.ImageService().Update(ctx, image)
	}
	return err
}

// bring puts a content into containerd's store and has containerd note it. With a content of
// that digest and size in the store containerd asks for no bytes (its sharing policy
// "shared", the default). If it removed it meanwhile as garbage, or has another policy, it gets them.
func (i importer) bring(ctx context.Context, d ocispec.Descriptor) error {
	file, err := os.Open(i.blob(i.layout, d.Digest))
	if err != nil {
		return err
	}
	defer file.Close()
	if err := place(file, i.blob(i.store, d.Digest)); err != nil {
		return err
	}
	return content.WriteBlob(ctx, i.client.ContentStore(), "import-"+d.Digest.String(), file, ocispec.Descriptor{Digest: d.Digest, Size: d.Size})
}

// blob is the file of a content; both folders have it at the same place.
func (importer) blob(folder string, d digest.Digest) string {
	return filepath.Join(folder, ocispec.ImageBlobsDir, d.Algorithm().String(), d.Encoded())
}

// place links a file to a path, or copies it from another file system. Nobody sees half of it.
func place(file *os.File, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	err := os.Link(file.Name(), path)
	if err == nil || errors.Is(err, os.ErrExist) {
		return nil
	}
	// Beside the folder of contents, in which containerd looks at every file.
	half, err := os.CreateTemp(filepath.Dir(filepath.Dir(filepath.Dir(path))), "import-*")
	if err != nil {
		return err
	}
	defer os.Remove(half.Name()) //nolint:errcheck // it has its name by then
	if _, err = io.Copy(half, file); err == nil {
		err = half.Chmod(0o444)
	}
	if err == nil {
		err = half.Sync()
	}
	if err = errors.Join(err, half.Close()); err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return os.Rename(half.Name(), path)
}

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	return nil
}
