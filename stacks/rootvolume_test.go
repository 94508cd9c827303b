package stacks_test

import (
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumetypes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks"
)

// TestBootFromAVolumeThatGoesWithTheServer asks for a type that is not the
// cloud's default, and deletes nothing but the server: its boot volume goes, and
// the data volume stays.
//
// proves: F15
// proves: S-15
func TestBootFromAVolumeThatGoesWithTheServer(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	must[*volumetypes.VolumeType](t)(volumetypes.Create(t.Context(), cloud.Admin.BlockStorage(t), volumetypes.CreateOpts{Name: "ssd"}).Extract())
	w := newWorld(t, cloud, plain+"spec:\n  seed:\n    rootVolume: {sizeGiB: 30, type: ssd}\n")
	w.up(t)
	client, _ := w.clients.Volume()
	seed, data := w.only(t, stacks.StepSeed).ID, w.only(t, stacks.StepData).ID
	pages, err := volumes.List(client, nil).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var root volumes.Volume
	for _, v := range must[[]volumes.Volume](t)(volumes.ExtractVolumes(pages)) {
		if v.ID != data {
			root = v
		}
	}
	if root.Bootable != "true" || root.Size != 30 || root.VolumeType != "ssd" || len(root.Attachments) != 1 ||
		root.Attachments[0].ServerID != seed || root.Attachments[0].Device != "/dev/vda" {
		t.Errorf("boot volume %+v", root)
	}
	compute, _ := w.clients.Compute()
	if server := must[*servers.Server](t)(servers.Get(t.Context(), compute, seed).Extract()); len(server.Image) > 0 {
		t.Errorf("the server has a disk of image %v, too", server.Image)
	}

	if err := servers.Delete(t.Context(), compute, seed).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	for {
		err := volumes.Get(t.Context(), client, root.ID).Err
		if gophercloud.ResponseCodeIs(err, 404) {
			break
		}
		if err != nil { // also at the end of the test's time
			t.Fatalf("the boot volume does not go: %v", err)
		}
	}
	if v := must[*volumes.Volume](t)(volumes.Get(t.Context(), client, data).Extract()); v.Status != "available" {
		t.Errorf("the data volume is %s", v.Status)
	}
}
