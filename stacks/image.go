package stacks

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/fault"
)

// The machine images of a bundle.
const (
	SeedImage = "seed"
	NodeImage = "node"
)

// BundleImage is a machine image of the bundle in a folder, with the properties
// by which clusters find out what is in it.
func BundleImage(folder, name string) (ImageFile, error) {
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
	image := ImageFile{Path: path, SHA256: item.SHA256, Format: strings.TrimPrefix(filepath.Ext(item.Path), "."),
		Properties: map[string]string{"os_type": "linux", "os_distro": "debian", "slipway_version": item.Version}}
	if name == NodeImage {
		image.Properties["kube_version"] = item.Version
	}
	return image, nil
}
