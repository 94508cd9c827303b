package bundletest

import (
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/slipway-sh/slipway/internal/bundle"
)

// PutImage records an image of two random layers as the item of that name, with
// the tag v1 of a repository.
func PutImage(t *testing.T, folder *bundle.Folder, name, repository string) (bundle.Item, v1.Image) {
	t.Helper()
	image, err := random.Image(2048, 2)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := folder.PutImage(t.Context(), image)
	if err != nil {
		t.Fatal(err)
	}
	item := bundle.Item{Name: name, Kind: bundle.Image, Version: "v1", License: "Apache-2.0", Source: "test",
		SHA256: digest.SHA256, Size: digest.Size, Ref: repository + ":v1"}
	if err := folder.Record(item); err != nil {
		t.Fatal(err)
	}
	return item, image
}
