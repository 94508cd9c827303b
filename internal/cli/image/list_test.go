package image

import (
	"slices"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/images"
	"github.com/slipway-sh/slipway/images/manifest"
)

// TestTheNewestVersionIsFirst, whenever it was uploaded.
func TestTheNewestVersionIsFirst(t *testing.T) {
	t.Parallel()
	list := []images.Record{
		{Name: "seed", CreatedAt: time.Unix(900, 0)},
		{Name: "rebuilt", CreatedAt: time.Unix(800, 0), Properties: map[string]string{manifest.PropertyKubeVersion: "v1.34.4"}},
		{Name: "old", CreatedAt: time.Unix(700, 0), Properties: map[string]string{manifest.PropertyKubeVersion: "v1.34.4"}},
		{Name: "late", CreatedAt: time.Unix(950, 0), Properties: map[string]string{manifest.PropertyKubeVersion: "v1.9.11"}},
		{Name: "new", CreatedAt: time.Unix(100, 0), Properties: map[string]string{manifest.PropertyKubeVersion: "1.35.0"}},
	}
	slices.SortStableFunc(list, newest)
	var names []string
	for _, r := range list {
		names = append(names, r.Name)
	}
	if want := []string{"new", "rebuilt", "old", "late", "seed"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}
