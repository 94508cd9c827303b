package volume_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/backups"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/snapshots"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/internal/sandbox"
	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/image"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
	"github.com/slipway-sh/slipway/internal/sandbox/volume"
)

// driver is the driver none that notes what volumes it has, and fails or
// waits when told to.
type driver struct {
	*machine.None
	mu      sync.Mutex
	volumes map[string]machine.Volume
	copies  map[string]string
	fail    error
	wait    chan struct{}
}

func newDriver() *driver {
	return &driver{None: machine.NewNone(), volumes: map[string]machine.Volume{}, copies: map[string]string{}}
}

// Volumes returns the driver itself.
func (d *driver) Volumes() machine.Volumes { return d }

// do changes what the driver has, or fails.
func (d *driver) do(ctx context.Context, change func()) error {
	d.mu.Lock()
	wait, fail := d.wait, d.fail
	d.mu.Unlock()
	if wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if fail != nil {
		return fail
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
	return nil
}

func (d *driver) CreateVolume(ctx context.Context, v machine.Volume) error {
	return d.do(ctx, func() { d.volumes[v.ID] = v })
}

func (d *driver) ExtendVolume(ctx context.Context, id string, gib int) error {
	return d.do(ctx, func() {
		v := d.volumes[id]
		v.GiB = gib
		d.volumes[id] = v
	})
}

func (d *driver) DeleteVolume(ctx context.Context, id string) error {
	return d.do(ctx, func() { delete(d.volumes, id) })
}

func (d *driver) CreateSnapshot(ctx context.Context, id, volumeID string) error {
	return d.do(ctx, func() { d.copies[id] = volumeID })
}

func (d *driver) set(fail error, wait chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail, d.wait = fail, wait
}

func (d *driver) has(id string) (machine.Volume, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v, ok := d.volumes[id]
	return v, ok
}

func start(t *testing.T) (*sandboxtest.Cloud, *driver, *gophercloud.ServiceClient) {
	t.Helper()
	d := newDriver()
	cloud := sandboxtest.Start(t, func(o *sandbox.Options) { o.Host = d })
	return cloud, d, cloud.Member.BlockStorage(t)
}

func get(t *testing.T, client *gophercloud.ServiceClient, id string) volumes.Volume {
	t.Helper()
	v, err := volumes.Get(t.Context(), client, id).Extract()
	if err != nil {
		t.Fatal(err)
	}
	return *v
}

func reach(t *testing.T, client *gophercloud.ServiceClient, id, status string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		v, err := volumes.Get(t.Context(), client, id).Extract()
		if status == "" && gophercloud.ResponseCodeIs(err, http.StatusNotFound) || err == nil && v.Status == status {
			return
		}
	}
	t.Fatalf("volume %s never became %q: %+v", id, status, get(t, client, id))
}

func create(t *testing.T, client *gophercloud.ServiceClient, o volumes.CreateOpts) string {
	t.Helper()
	v, err := volumes.Create(t.Context(), client, o, nil).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if v.Status != "creating" {
		t.Errorf("a new volume is %s, want creating", v.Status)
	}
	return v.ID
}

func TestDriverFollows(t *testing.T) {
	t.Parallel()
	_, d, client := start(t)
	id := create(t, client, volumes.CreateOpts{Size: 2})
	reach(t, client, id, "available")
	if v, ok := d.has(id); !ok || v.GiB != 2 {
		t.Errorf("the driver has %+v", v)
	}
	if err := volumes.ExtendSize(t.Context(), client, id, volumes.ExtendSizeOpts{NewSize: 5}).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	reach(t, client, id, "available")
	if v, _ := d.has(id); v.GiB != 5 || get(t, client, id).Size != 5 {
		t.Errorf("after extending the driver has %+v", v)
	}
	copied := create(t, client, volumes.CreateOpts{SourceVolID: id})
	reach(t, client, copied, "available")
	if v, _ := d.has(copied); v.SourceVolume != id || v.GiB != 5 {
		t.Errorf("the copy is %+v", v)
	}
	if err := volumes.Delete(t.Context(), client, id, nil).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	reach(t, client, id, "")
	if _, ok := d.has(id); ok {
		t.Error("the driver still has the volume")
	}
}

func TestDriverFails(t *testing.T) {
	t.Parallel()
	cloud, d, client := start(t)
	good := create(t, client, volumes.CreateOpts{Size: 1})
	reach(t, client, good, "available")
	d.set(errors.New("no space left"), nil)
	bad := create(t, client, volumes.CreateOpts{Size: 1})
	reach(t, client, bad, "error")
	if err := volumes.ExtendSize(t.Context(), client, good, volumes.ExtendSizeOpts{NewSize: 2}).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	reach(t, client, good, "error_extending")
	if got := get(t, client, good).Size; got != 1 {
		t.Errorf("size %d after an extension that failed, want 1", got)
	}
	if err := volumes.Delete(t.Context(), client, good, nil).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	reach(t, client, good, "error_deleting")
	said := 0
	_ = cloud.Env.Store.View(func(r store.Reader) error { said = cloud.Env.Model.Volume.Messages.Len(r); return nil })
	if said != 3 {
		t.Errorf("%d messages for 3 failures", said)
	}
	d.set(nil, nil)
	if err := volumes.Delete(t.Context(), client, good, nil).ExtractErr(); err != nil {
		t.Errorf("deleting again: %v", err)
	}
	reach(t, client, good, "")
}

func TestNoBackend(t *testing.T) {
	t.Parallel()
	cloud, _, client := start(t)
	if _, err := cloud.Faults.Add(faultinject.Rule{Kind: faultinject.NoValidHost, Resource: "big*"}); err != nil {
		t.Fatal(err)
	}
	reach(t, client, create(t, client, volumes.CreateOpts{Size: 1, Name: "big one"}), "error")
	reach(t, client, create(t, client, volumes.CreateOpts{Size: 1, Name: "small"}), "available")
}

func TestRestartGoesOn(t *testing.T) {
	t.Parallel()
	cloud, d, client := start(t)
	d.set(nil, make(chan struct{}))
	id := create(t, client, volumes.CreateOpts{Size: 1})
	reach(t, client, id, "creating")
	d.set(nil, nil)
	cloud.Restart(t)
	reach(t, cloud.Member.BlockStorage(t), id, "available")
	if _, ok := d.has(id); !ok {
		t.Error("the driver was not asked again")
	}
}

func TestImageIsHeldWhileCopied(t *testing.T) {
	t.Parallel()
	cloud, d, client := start(t)
	glance := cloud.Member.Image(t)
	img, err := images.Create(t.Context(), glance, images.CreateOpts{Name: "i", DiskFormat: "raw", ContainerFormat: "bare",
		Properties: map[string]string{"os_distro": "debian"}}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if err := imagedata.Upload(t.Context(), glance, img.ID, bytes.NewReader(make([]byte, 1<<20))).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	wait := make(chan struct{})
	d.set(nil, wait)
	id := create(t, client, volumes.CreateOpts{Size: 1, ImageID: img.ID})
	reach(t, client, id, "downloading")
	if err := images.Delete(t.Context(), glance, img.ID).ExtractErr(); !gophercloud.ResponseCodeIs(err, http.StatusConflict) {
		t.Errorf("deleting an image that is being copied: %v, want 409", err)
	}
	close(wait)
	reach(t, client, id, "available")
	v := get(t, client, id)
	if v.Bootable != "true" || v.VolumeImageMetadata["os_distro"] != "debian" || v.VolumeImageMetadata["image_id"] != img.ID {
		t.Errorf("volume %+v", v)
	}
	if made, _ := d.has(id); made.Image != image.File(cloud.Env, img.ID) {
		t.Errorf("made from %q", made.Image)
	}
	if err := images.Delete(t.Context(), glance, img.ID).ExtractErr(); err != nil {
		t.Errorf("deleting it afterwards: %v", err)
	}
}

func TestBackupOfSnapshot(t *testing.T) {
	t.Parallel()
	_, d, client := start(t)
	id := create(t, client, volumes.CreateOpts{Size: 1})
	reach(t, client, id, "available")
	snapshot, err := snapshots.Create(t.Context(), client, snapshots.CreateOpts{VolumeID: id}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if err := snapshots.WaitForStatus(t.Context(), client, snapshot.ID, "available"); err != nil {
		t.Fatal(err)
	}
	backup, err := backups.Create(t.Context(), client, backups.CreateOpts{VolumeID: id, SnapshotID: snapshot.ID}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if b, err := backups.Get(t.Context(), client, backup.ID).Extract(); err == nil && b.Status == "available" {
			break
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.copies[backup.ID] != backup.ID {
		t.Errorf("the backup is a copy of %q, want of a volume made from the snapshot", d.copies[backup.ID])
	}
	if _, left := d.volumes[backup.ID]; left {
		t.Error("the volume that was made for the backup is left")
	}
}

func TestAttachForCompute(t *testing.T) {
	t.Parallel()
	cloud, _, client := start(t)
	id := create(t, client, volumes.CreateOpts{Size: 1})
	reach(t, client, id, "available")
	var a model.Attachment
	update := func(fn func(tx *store.Tx) error) error { return cloud.Env.Store.Update(fn) }
	steps := []struct {
		want   string
		status int
		do     func(tx *store.Tx) error
	}{
		{"reserved", 0, func(tx *store.Tx) (err error) { a, err = volume.Reserve(tx, cloud.Env, id, "server-1"); return err }},
		{"reserved", 400, func(tx *store.Tx) error { _, err := volume.Reserve(tx, cloud.Env, id, "server-2"); return err }},
		{"reserved", 400, func(tx *store.Tx) error { return volume.Delete(tx, cloud.Env, id) }},
		{"reserved", 400, func(tx *store.Tx) error { _, err := volume.BeginDetach(tx, cloud.Env, id, "server-1"); return err }},
		{"in-use", 0, func(tx *store.Tx) error { return volume.Attach(tx, cloud.Env, a.ID, "/dev/vdb", "host") }},
		{"in-use", 400, func(tx *store.Tx) error { return volume.Delete(tx, cloud.Env, id) }},
		{"detaching", 0, func(tx *store.Tx) error { _, err := volume.BeginDetach(tx, cloud.Env, id, "server-1"); return err }},
		{"in-use", 0, func(tx *store.Tx) error { return volume.RollDetach(tx, cloud.Env, a.ID) }},
		{"in-use", 404, func(tx *store.Tx) error { _, err := volume.BeginDetach(tx, cloud.Env, id, "server-2"); return err }},
		{"available", 0, func(tx *store.Tx) error { volume.Detach(tx, cloud.Env, a.ID); return nil }},
	}
	for i, step := range steps {
		err := update(step.do)
		var own *api.Error
		if errors.As(err, &own); own == nil && step.status != 0 || own != nil && own.Status != step.status {
			t.Errorf("step %d: %v, want status %d", i, err, step.status)
		}
		v := get(t, client, id)
		if v.Status != step.want {
			t.Errorf("step %d: the volume is %s, want %s", i, v.Status, step.want)
		}
		if step.want == "in-use" && (len(v.Attachments) != 1 || v.Attachments[0].Device != "/dev/vdb" || v.Attachments[0].ServerID != "server-1") {
			t.Errorf("step %d: attachments %+v", i, v.Attachments)
		}
	}
}
