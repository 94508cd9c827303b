package stacks

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// The machine images of a bundle.
const (
	SeedImage = "seed"
	NodeImage = "node"
)

// ImageFile is an image on this computer.
type ImageFile struct {
	// Listed is the name of one of the environment's images instead; then all
	// else is empty.
	Listed string

	Path, SHA256 string
	// Format is that of the upload: a raw file can become qcow2 on the way.
	Format     string
	Properties map[string]string
}

// BundleImage is a machine image of the environment's bundle, in the format that the
// environment wants. Its properties say which devices its kernel has drivers for, and what
// is in it.
func BundleImage(of *config.Environment, name string) (ImageFile, error) {
	folder := string(of.Spec.Bundle)
	opened, err := bundle.Open(folder)
	if err != nil {
		return ImageFile{}, err
	}
	item := opened.Bill().Item(name)
	if item == nil {
		return ImageFile{}, fault.New("bundle "+folder, fmt.Errorf("it contains no machine image %s", name), "run slipway bundle build --dir "+folder)
	}
	path, err := filepath.Abs(filepath.Join(folder, item.Path))
	if err != nil {
		return ImageFile{}, err
	}
	image := ImageFile{Path: path, SHA256: item.SHA256, Format: of.Spec.ImageFormat, Properties: maps.Clone(item.Properties)}
	if filepath.Ext(item.Path) == ".qcow2" {
		image.Format = "qcow2"
	}
	if image.Properties == nil {
		image.Properties = map[string]string{"os_type": "linux", "os_distro": "debian"} // a bundle of Slipway 0.1
	}
	image.Properties["slipway_version"] = item.Version
	delete(image.Properties, "kube_version")
	if name == NodeImage {
		image.Properties["kube_version"] = item.Version
	}
	return image, nil
}

// image uploads an image of the bundle, unless one of the cloud or of the list
// was chosen (F21). One that the list brings, too, is uploaded once.
func (e Environment) image(ctx *pulumi.Context, step, chosen string, file ImageFile) (pulumi.StringInput, error) {
	if chosen != "" {
		return pulumi.String(chosen), nil
	}
	if file.Listed != "" {
		return e.uploaded[file.Listed].ImageID, nil
	}
	var options []pulumi.ResourceOption
	if same := e.uploaded["sha256:"+file.SHA256]; same != nil {
		options = append(options, pulumi.DependsOn([]pulumi.Resource{same}))
	}
	image, err := openstack.NewImage(ctx, openstack.ImageInputs{Ownership: e.ownership(step), Path: file.Path, SHA256: file.SHA256,
		Format: file.Format, Properties: file.Properties}, options...)
	if err != nil {
		return nil, err
	}
	return image.ID(), nil
}

// seedDigest is the SHA-256 of the seed's image, in hexadecimal, where it comes
// with Slipway or by a list: a newer one brings newer k3s, and the images of
// whatever runs on the seed (F03). "" is an image that the cloud has.
func (e Environment) seedDigest() string {
	if e.Choices.ImageID != "" {
		return ""
	}
	for _, listed := range e.Images {
		if listed.Manifest.Spec.Images[0].Name == e.Image.Listed {
			return strings.TrimPrefix(listed.Digest, "sha256:")
		}
	}
	return e.Image.SHA256
}
