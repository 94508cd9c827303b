package stacks

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/fault"
)

// seedImage is the name of the seed's machine image in a bundle.
const seedImage = "seed"

// BundleImage is the seed's image in the bundle in a folder.
func BundleImage(folder string) (ImageFile, error) {
	opened, err := bundle.Open(folder)
	if err != nil {
		return ImageFile{}, err
	}
	item := opened.Bill().Item(seedImage)
	if item == nil {
		return ImageFile{}, fault.New("bundle "+folder, errors.New("it has no image for the seed"), "slipway bundle build --dir "+folder)
	}
	path, err := filepath.Abs(filepath.Join(folder, item.Path))
	if err != nil {
		return ImageFile{}, err
	}
	return ImageFile{Path: path, SHA256: item.SHA256, Format: strings.TrimPrefix(filepath.Ext(item.Path), "."),
		Properties: map[string]string{"os_type": "linux", "os_distro": "debian", "slipway_version": item.Version}}, nil
}
