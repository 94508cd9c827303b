package contract_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/limits"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/snapshots"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
)

// newVolume makes a volume that is available and ends with the test.
func newVolume(t *testing.T, client *gophercloud.ServiceClient, o volumes.CreateOpts) volumes.Volume {
	t.Helper()
	if o.Name == "" {
		o.Name = unique(t)
	}
	v := must[*volumes.Volume](t)(volumes.Create(t.Context(), client, o, nil).Extract())
	t.Cleanup(func() { _ = volumes.Delete(cleanup(t), client, v.ID, volumes.DeleteOpts{Cascade: true}).ExtractErr() })
	volumeReaches(t, client, v.ID, "available")
	return getVolume(t, client, v.ID)
}

func getVolume(t *testing.T, client *gophercloud.ServiceClient, id string) volumes.Volume {
	t.Helper()
	return *must[*volumes.Volume](t)(volumes.Get(t.Context(), client, id).Extract())
}

func volumeReaches(t *testing.T, client *gophercloud.ServiceClient, id, status string) {
	t.Helper()
	eventually(t, "volume "+id+" is "+status, func() bool {
		v, err := volumes.Get(t.Context(), client, id).Extract()
		return err == nil && v.Status == status
	})
}

func newSnapshot(t *testing.T, client *gophercloud.ServiceClient, o snapshots.CreateOpts) snapshots.Snapshot {
	t.Helper()
	s := must[*snapshots.Snapshot](t)(snapshots.Create(t.Context(), client, o).Extract())
	t.Cleanup(func() { _ = snapshots.Delete(cleanup(t), client, s.ID).ExtractErr() })
	if err := snapshots.WaitForStatus(t.Context(), client, s.ID, "available"); err != nil {
		t.Fatal(err)
	}
	return *s
}

func TestVolumeLife(t *testing.T) {
	t.Parallel()
	client := newPerson(t).clients(t).BlockStorage(t)
	o := volumes.CreateOpts{Size: 1, Name: unique(t), Description: "a disk", Metadata: map[string]string{"cluster": "one"}}
	made := must[*volumes.Volume](t)(volumes.Create(t.Context(), client, o, nil).Extract())
	if made.Status != "creating" || made.AvailabilityZone == "" {
		t.Errorf("a new volume: %+v", made)
	}
	volumeReaches(t, client, made.ID, "available")
	v := getVolume(t, client, made.ID)
	if v.Size != 1 || v.Description != "a disk" || v.Metadata["cluster"] != "one" || v.Bootable != "false" || v.VolumeType == "" ||
		v.CreatedAt.IsZero() || len(v.Attachments) != 0 || v.Multiattach || v.Encrypted {
		t.Errorf("volume %+v", v)
	}
	name := v.Name + "-renamed"
	if got := must[*volumes.Volume](t)(volumes.Update(t.Context(), client, v.ID, volumes.UpdateOpts{Name: &name}).Extract()); got.Name != name || got.Description != "a disk" {
		t.Errorf("renamed to %+v", got)
	}
	if err := volumes.Delete(t.Context(), client, v.ID, nil).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the volume is gone", func() bool {
		_, err := volumes.Get(t.Context(), client, v.ID).Extract()
		return gophercloud.ResponseCodeIs(err, http.StatusNotFound)
	})
}

func TestVolumeSources(t *testing.T) {
	t.Parallel()
	client := member(t).BlockStorage(t)
	img := newActiveImage(t, images.CreateOpts{MinDisk: 2, Properties: map[string]string{"os_distro": "debian"}}, []byte("boot"))
	boot := newVolume(t, client, volumes.CreateOpts{Size: 2, ImageID: img.ID})
	if boot.Bootable != "true" || boot.VolumeImageMetadata["image_id"] != img.ID || boot.VolumeImageMetadata["os_distro"] != "debian" {
		t.Errorf("from an image: %+v", boot)
	}
	snapshot := newSnapshot(t, client, snapshots.CreateOpts{VolumeID: boot.ID, Name: unique(t)})
	if snapshot.Size != 2 || snapshot.VolumeID != boot.ID {
		t.Errorf("snapshot %+v", snapshot)
	}
	restored := newVolume(t, client, volumes.CreateOpts{SnapshotID: snapshot.ID})
	if restored.Size != 2 || restored.SnapshotID != snapshot.ID || restored.Bootable != "true" {
		t.Errorf("from a snapshot: %+v", restored)
	}
	copied := newVolume(t, client, volumes.CreateOpts{Size: 3, SourceVolID: boot.ID})
	if copied.Size != 3 || copied.SourceVolID != boot.ID {
		t.Errorf("from a volume: %+v", copied)
	}
	for name, o := range map[string]volumes.CreateOpts{
		"400 less than min_disk":       {Size: 1, ImageID: img.ID},
		"400 less than the snapshot":   {Size: 1, SnapshotID: snapshot.ID},
		"400 less than the volume":     {Size: 1, SourceVolID: boot.ID},
		"400 no size and no source":    {},
		"400 negative size":            {Size: -1},
		"400 unknown zone":             {Size: 1, AvailabilityZone: "nowhere"},
		"404 unknown type":             {Size: 1, VolumeType: "none"},
		"404 unknown snapshot":         {Size: 1, SnapshotID: unknownID},
		"404 unknown volume":           {Size: 1, SourceVolID: unknownID},
		"400 unknown image":            {Size: 1, ImageID: unknownID},
		"400 image that has no bytes":  {Size: 1, ImageID: newImage(t, images.CreateOpts{}).ID},
		"400 something that is no id":  {Size: 1, ImageID: "no image"},
		"400 a name that is too long":  {Size: 1, Name: strings.Repeat("x", 256)},
		"400 metadata without a name":  {Size: 1, Metadata: map[string]string{"": "x"}},
		"400 metadata that is so long": {Size: 1, Metadata: map[string]string{"x": strings.Repeat("x", 256)}},
	} {
		_, err := volumes.Create(t.Context(), client, o, nil).Extract()
		want := map[byte]int{'0': 400, '4': 404}[name[2]]
		if !gophercloud.ResponseCodeIs(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestVolumeWithSnapshotsStays(t *testing.T) {
	t.Parallel()
	client := newPerson(t).clients(t).BlockStorage(t)
	v := newVolume(t, client, volumes.CreateOpts{Size: 1})
	snapshot := newSnapshot(t, client, snapshots.CreateOpts{VolumeID: v.ID})
	err := volumes.Delete(t.Context(), client, v.ID, nil).ExtractErr()
	wantStatus(t, err, http.StatusBadRequest)
	if err == nil || !strings.Contains(err.Error(), "have snapshots") {
		t.Errorf("the error does not say why: %v", err)
	}
	if err := volumes.Delete(t.Context(), client, v.ID, volumes.DeleteOpts{Cascade: true}).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "volume and snapshot are gone", func() bool {
		_, a := volumes.Get(t.Context(), client, v.ID).Extract()
		_, b := snapshots.Get(t.Context(), client, snapshot.ID).Extract()
		return gophercloud.ResponseCodeIs(a, http.StatusNotFound) && gophercloud.ResponseCodeIs(b, http.StatusNotFound)
	})
}

func TestVolumeExtend(t *testing.T) {
	t.Parallel()
	client := newPerson(t).clients(t).BlockStorage(t)
	v := newVolume(t, client, volumes.CreateOpts{Size: 2})
	extend := func(size int) error {
		return volumes.ExtendSize(t.Context(), client, v.ID, volumes.ExtendSizeOpts{NewSize: size}).ExtractErr()
	}
	wantStatus(t, extend(2), http.StatusBadRequest)
	wantStatus(t, extend(1), http.StatusBadRequest)
	if err := extend(3); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the volume has grown", func() bool {
		v := getVolume(t, client, v.ID)
		return v.Status == "available" && v.Size == 3
	})
}

func TestVolumeList(t *testing.T) {
	t.Parallel()
	client := newPerson(t).clients(t).BlockStorage(t)
	mark := unique(t)
	first := newVolume(t, client, volumes.CreateOpts{Size: 1, Name: mark + "-1", Metadata: map[string]string{"mark": mark}})
	second := newVolume(t, client, volumes.CreateOpts{Size: 2, Name: mark + "-2", Metadata: map[string]string{"mark": mark}})
	for _, c := range []struct {
		name string
		o    volumes.ListOpts
		want []string
	}{
		{"name", volumes.ListOpts{Name: first.Name}, []string{first.ID}},
		{"metadata, the newest first", volumes.ListOpts{Metadata: map[string]string{"mark": mark}}, []string{second.ID, first.ID}},
		{"sorted", volumes.ListOpts{Metadata: map[string]string{"mark": mark}, Sort: "size:asc"}, []string{first.ID, second.ID}},
		{"page by page", volumes.ListOpts{Metadata: map[string]string{"mark": mark}, Limit: 1}, []string{second.ID, first.ID}},
		{"status", volumes.ListOpts{Metadata: map[string]string{"mark": mark}, Status: "error"}, nil},
		{"unknown name", volumes.ListOpts{Name: mark}, nil},
	} {
		pages, err := volumes.List(client, c.o).AllPages(t.Context())
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []string
		for _, v := range must[[]volumes.Volume](t)(volumes.ExtractVolumes(pages)) {
			got = append(got, v.ID)
		}
		if strings.Join(got, " ") != strings.Join(c.want, " ") {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	wantStatus(t, func() error {
		_, err := volumes.List(client, volumes.ListOpts{Marker: unknownID}).AllPages(t.Context())
		return err
	}(), http.StatusNotFound)
}

func TestVolumeOfAnotherProject(t *testing.T) {
	t.Parallel()
	v := newVolume(t, member(t).BlockStorage(t), volumes.CreateOpts{Size: 1})
	guest := newPerson(t).clients(t).BlockStorage(t)
	_, err := volumes.Get(t.Context(), guest, v.ID).Extract()
	wantStatus(t, err, http.StatusNotFound)
	wantStatus(t, volumes.Delete(t.Context(), guest, v.ID, nil).ExtractErr(), http.StatusNotFound)
	_, err = snapshots.Create(t.Context(), guest, snapshots.CreateOpts{VolumeID: v.ID}).Extract()
	wantStatus(t, err, http.StatusNotFound)
	if got := getVolume(t, admin(t).BlockStorage(t), v.ID); got.TenantID == "" || got.Host == "" {
		t.Errorf("an administrator sees %+v", got)
	}
	elsewhere := strings.Replace(guest.Endpoint, guestProject(guest), "0123456789abcdef0123456789abcdef", 1) + "volumes"
	if got := raw(t, "GET", elsewhere, guest.Token(), "", nil); got.status != http.StatusBadRequest {
		t.Errorf("the path of another project: %d, want 400", got.status)
	}
}

// guestProject is the project in the endpoint of a client.
func guestProject(client *gophercloud.ServiceClient) string {
	parts := strings.Split(strings.Trim(client.Endpoint, "/"), "/")
	return parts[len(parts)-1]
}

func TestVolumeQuota(t *testing.T) {
	t.Parallel()
	person := newPerson(t)
	client, boss := person.clients(t).BlockStorage(t), admin(t).BlockStorage(t)
	url := boss.ServiceURL("os-quota-sets", person.project.ID)
	set := func(body string) answer { return raw(t, "PUT", url, boss.Token(), `{"quota_set":`+body+`}`, nil) }
	if got := set(`{"gigabytes":3,"volumes":2,"snapshots":1}`); got.status != http.StatusOK || got.at("quota_set", "gigabytes") != 3.0 {
		t.Fatalf("setting a quota: %d %s", got.status, got.text)
	}
	if got := set(`{"bananas":3}`); got.status != http.StatusBadRequest {
		t.Errorf("an unknown quota: %d, want 400", got.status)
	}
	v := newVolume(t, client, volumes.CreateOpts{Size: 1})
	over := func(what, message string, err error) {
		t.Helper()
		if !gophercloud.ResponseCodeIs(err, http.StatusRequestEntityTooLarge) || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v, want 413 with %s", what, err, message)
		}
	}
	try := func(o volumes.CreateOpts) error {
		_, err := volumes.Create(t.Context(), client, o, nil).Extract()
		return err
	}
	over("gigabytes", "Requested 3G, quota is 3G and 1G has been consumed", try(volumes.CreateOpts{Size: 3}))
	over("extending", "VolumeSizeExceedsAvailableQuota",
		volumes.ExtendSize(t.Context(), client, v.ID, volumes.ExtendSizeOpts{NewSize: 4}).ExtractErr())
	newVolume(t, client, volumes.CreateOpts{Size: 1})
	over("volumes", "VolumeLimitExceeded: Maximum number of volumes allowed (2) exceeded", try(volumes.CreateOpts{Size: 1}))
	newSnapshot(t, client, snapshots.CreateOpts{VolumeID: v.ID})
	_, err := snapshots.Create(t.Context(), client, snapshots.CreateOpts{VolumeID: v.ID}).Extract()
	over("snapshot", "exceeds allowed gigabytes quota", err)

	got := must[*limits.Limits](t)(limits.Get(t.Context(), client).Extract()).Absolute
	if got.MaxTotalVolumes != 2 || got.TotalVolumesUsed != 2 || got.TotalGigabytesUsed != 3 || got.TotalSnapshotsUsed != 1 {
		t.Errorf("limits %+v", got)
	}
}
