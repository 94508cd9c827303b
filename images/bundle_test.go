package images

import (
	"bytes"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

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
			Path: "machines/node.raw", Properties: map[string]string{"kube_version": "v1.34.4", "os_distro": "debian", "os_version": "12",
				"hw_disk_bus": "virtio", "hw_cdrom_bus": "scsi"}})
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
	f.expectHardware(t, i, r.ID)
	i.Bundle = "absent"
	if _, err := f.Sync(t.Context(), list(i)); err == nil {
		t.Error("an item that the bundle has not")
	}
}

// expectHardware changes what the bill says of a machine's devices, in Glance, and
// expects that verify finds it and sync repairs it.
func (f *fixture) expectHardware(t *testing.T, i manifest.Image, id string) {
	t.Helper()
	if r, err := f.Glance.Get(t.Context(), id); err != nil || r.Properties["hw_disk_bus"] != "virtio" || r.Properties["hw_cdrom_bus"] != "scsi" || r.MinDisk != 1 {
		t.Errorf("uploaded with %+v (%v)", r, err)
	}
	_, err := images.Update(t.Context(), f.Glance.client, id, images.UpdateOpts{
		images.UpdateImageProperty{Op: images.ReplaceOp, Name: "hw_disk_bus", Value: "sata"},
		images.UpdateImageProperty{Op: images.RemoveOp, Name: "hw_cdrom_bus"}}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	found, err := f.Verify(t.Context(), list(i), false)
	if err != nil || len(found) != 2 {
		t.Fatalf("findings %+v (%v)", found, err)
	}
	for _, finding := range found {
		if finding.Property != "hw_disk_bus" && finding.Property != "hw_cdrom_bus" || finding.Cause == "" || finding.Remedy == "" {
			t.Errorf("%+v", finding)
		}
	}
	f.sync(t, i)
	if found, err := f.Verify(t.Context(), list(i), false); err != nil || len(found) > 0 {
		t.Errorf("after sync: %+v (%v)", found, err)
	}
}
