package images

import (
	"bytes"
	"testing"

	"github.com/slipway-sh/slipway/images/imagetest"
	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/bundle"
)

// A machine image of the bundle needs neither digest nor description: the bill
// has both. What the manifest says wins.
func TestImageOfTheBundle(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	data := imagetest.Disk(1, 2)
	folder, err := bundle.Create(t.TempDir(), "linux/amd64")
	if err != nil {
		t.Fatal(err)
	}
	stored, err := folder.Put(t.Context(), bytes.NewReader(data))
	if err == nil {
		err = folder.Record(bundle.Item{Name: "node", Kind: bundle.Machine, Version: "v1.34.4", Source: "test", License: "Apache-2.0", Size: stored.Size, SHA256: stored.SHA256,
			Path: "machines/node.raw", Properties: map[string]string{"kube_version": "v1.34.4", "os_distro": "debian", "os_version": "12"}})
	}
	if err == nil {
		err = folder.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Source.Bundle = folder.Dir()
	i := manifest.Image{Name: "node", Key: "node", Bundle: "node", Format: "raw", OS: manifest.OS{Type: "linux", Version: "12.9"}, Visibility: "private", Method: manifest.MethodUpload}
	result := f.sync(t, i)
	r, err := f.Glance.Get(t.Context(), result.ID)
	if err != nil || r.Properties["kube_version"] != "v1.34.4" || r.Properties["kubernetes_version"] != "v1.34.4" || r.Properties["os_distro"] != "debian" || r.Properties["os_version"] != "12.9" || r.Properties[PropertySHA256] != stored.SHA256 {
		t.Errorf("record %+v (%v)", r, err)
	}
	if again := f.sync(t, i); again.Changed {
		t.Errorf("the second time: %+v", again)
	}
	i.Bundle = "absent"
	if _, err := f.Sync(t.Context(), list(i)); err == nil {
		t.Error("an item that the bundle has not")
	}
}
