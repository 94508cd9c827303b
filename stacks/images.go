package stacks

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/images"
	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks/catalog"
)

// imageStep begins the names of the resources that are the images of a list.
const imageStep = "image-"

// ListedImage is an image of the manifests that an environment names.
type ListedImage struct {
	// Manifest is of this image alone.
	Manifest *manifest.Manifest
	// Digest is what manifest or bundle say of the bytes; Stamp changes when a
	// local file does of which nobody says anything.
	Digest, Stamp string
}

// ListedImages looks at what the images of manifests are made of: files that
// are not there are refused before anything is made.
func ListedImages(list []*manifest.Manifest, folder config.File) ([]ListedImage, error) {
	var all []ListedImage
	var errs []error
	for _, m := range list {
		listed := ListedImage{Manifest: m, Digest: m.Spec.Images[0].Digest()}
		errs = append(errs, listed.look(string(folder)))
		all = append(all, listed)
	}
	return all, errors.Join(errs...)
}

func (l *ListedImage) look(folder string) error {
	switch i := l.Manifest.Spec.Images[0]; {
	case i.Bundle != "":
		opened, err := bundle.Open(folder)
		if err != nil {
			return err
		}
		item := opened.Bill().Item(i.Bundle)
		if item == nil || item.Kind != bundle.Machine {
			return fault.Usage("image "+i.Name, fmt.Errorf("the bundle %s contains no machine image %q", folder, i.Bundle), "list its items with slipway bundle list")
		}
		l.Digest = "sha256:" + item.SHA256
		images.DescribeFromBill(&l.Manifest.Spec.Images[0], item.Properties)
	case i.File != "":
		info, err := os.Stat(string(i.File))
		if err != nil {
			if known := (*fs.PathError)(nil); errors.As(err, &known) {
				err = fmt.Errorf("%s: %w", i.File, known.Err)
			}
			return fault.Usage("image "+i.Name, err, "check its file in the manifest; the path is relative to the manifest's folder")
		}
		if l.Digest == "" {
			l.Stamp = fmt.Sprintf("%d bytes of %s", info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano))
		}
	}
	return nil
}

// images uploads the images of the list beside everything else, and returns
// them by name and by digest.
func (e Environment) images(ctx *pulumi.Context) (map[string]*catalog.Image, error) {
	uploaded := map[string]*catalog.Image{}
	for _, listed := range e.Images {
		in, err := catalog.NewImageInputs(e.Config.Metadata.Name, listed.Manifest, listed.Digest, listed.Stamp)
		if err != nil {
			return nil, err
		}
		i := listed.Manifest.Spec.Images[0]
		image, err := catalog.NewImage(ctx, imageStep+i.Key, in)
		if err != nil {
			return nil, err
		}
		uploaded[i.Name], uploaded[listed.Digest] = image, image
	}
	return uploaded, nil
}
