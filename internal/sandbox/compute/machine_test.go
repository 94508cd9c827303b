package compute_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/volumeattach"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/slipway-sh/slipway/internal/sandbox"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// network makes a network with a subnet.
func network(t *testing.T, cloud *sandboxtest.Cloud) string {
	t.Helper()
	client := cloud.Member.Network(t)
	n, err := networks.Create(t.Context(), client, networks.CreateOpts{Name: "net"}).Extract()
	if err == nil {
		_, err = subnets.Create(t.Context(), client, subnets.CreateOpts{NetworkID: n.ID, CIDR: "10.9.0.0/24", IPVersion: 4}).Extract()
	}
	if err != nil {
		t.Fatal(err)
	}
	return n.ID
}

// What the API was told reaches the machine.
func TestSpecOfAMachine(t *testing.T) {
	t.Parallel()
	d := newDriver()
	cloud := start(t, d)
	client := compute(t, cloud.Member)
	key, err := keypairs.Create(t.Context(), cloud.Member.Compute(t), keypairs.CreateOpts{Name: "key"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	drive := true
	o := servers.CreateOpts{Name: "My Server_1", FlavorRef: "3", ImageRef: makeImage(t, cloud), ConfigDrive: &drive,
		UserData: []byte(base64.StdEncoding.EncodeToString([]byte("#!/bin/sh"))), Metadata: map[string]string{"role": "test"},
		Networks: []servers.Network{{UUID: network(t, cloud)}}}
	s, err := servers.Create(t.Context(), client, keypairs.CreateOptsExt{CreateOptsBuilder: o, KeyName: "key"}, nil).Extract()
	if err != nil {
		t.Fatal(err)
	}
	await(t, client, s.ID, "ACTIVE")
	spec := d.last()
	if spec.VCPUs != 2 || spec.MemoryMiB != 4096 || spec.DiskGiB != 40 || spec.Image == "" || !spec.ConfigDrive {
		t.Errorf("machine %+v", spec)
	}
	m := spec.Metadata
	if string(m.UserData) != "#!/bin/sh" || m.Hostname != "my-server-1" || m.Values["role"] != "test" || m.PublicKeys["key"] != key.PublicKey || m.Password == "" {
		t.Errorf("metadata %+v", m)
	}
	if len(spec.Ports) != 1 || spec.Ports[0].MAC == "" || len(spec.Ports[0].Addresses) != 1 {
		t.Errorf("ports %+v", spec.Ports)
	}
}

// Disks with tags are told to the machine: a volume by its id, one of the
// machine's own by its place on the bus.
func TestTaggedDisks(t *testing.T) {
	t.Parallel()
	d := newDriver()
	cloud := start(t, d)
	client := compute(t, cloud.Member)
	one, two := 1, 2
	flavor, err := flavors.Create(t.Context(), cloud.Admin.Compute(t), flavors.CreateOpts{Name: "scratch", RAM: 512, VCPUs: 1, Disk: &one, Ephemeral: &two}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	blank := servers.BlockDevice{SourceType: servers.SourceBlank, BootIndex: -1, VolumeSize: 1, DeleteOnTermination: true}
	own, volume := blank, blank
	own.DestinationType, own.Tag = servers.DestinationLocal, "scratch"
	volume.DestinationType, volume.Tag = servers.DestinationVolume, "etcd"
	o := servers.CreateOpts{Name: "tagged", FlavorRef: flavor.ID, ImageRef: makeImage(t, cloud), BlockDevice: []servers.BlockDevice{own, volume},
		Networks: []servers.Network{{UUID: network(t, cloud)}}}
	s, err := servers.Create(t.Context(), client, o, nil).Extract()
	if err != nil {
		t.Fatal(err)
	}
	await(t, client, s.ID, "ACTIVE")
	spec := d.last()
	if len(spec.Volumes) != 1 || !slices.Equal(spec.Local, []machine.LocalDisk{{GiB: 1, Address: "0000:00:10.0"}}) {
		t.Fatalf("disks: %q, %+v", spec.Volumes, spec.Local)
	}
	if want := []machine.Device{{Address: "0000:00:10.0", Tag: "scratch"}, {Serial: spec.Volumes[0], Tag: "etcd"}}; !slices.Equal(spec.Metadata.Devices, want) {
		t.Errorf("devices: %+v, want %+v", spec.Metadata.Devices, want)
	}
}

// proves that state survives: machines come back with their volumes, and what
// was under way ends.
func TestRestart(t *testing.T) {
	t.Parallel()
	cloud := start(t, nil, func(o *sandbox.Options) { o.Factor = 0.1 })
	image := makeImage(t, cloud)
	client := compute(t, cloud.Member)
	running := await(t, client, boot(t, client, "running", image).ID, "ACTIVE")
	off := await(t, client, boot(t, client, "off", image).ID, "ACTIVE")
	if err := servers.Stop(t.Context(), client, off.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	await(t, client, off.ID, "SHUTOFF")
	building := boot(t, client, "building", image)
	cloud.Restart(t)
	client = compute(t, cloud.Member)
	await(t, client, building.ID, "ACTIVE")
	await(t, client, running.ID, "ACTIVE")
	await(t, client, off.ID, "SHUTOFF")
}

func TestVolumeThatCannotBeAttached(t *testing.T) {
	t.Parallel()
	d := newDriver()
	cloud := start(t, d)
	client := compute(t, cloud.Member)
	s := await(t, client, boot(t, client, "a", makeImage(t, cloud)).ID, "ACTIVE")
	storage := cloud.Member.BlockStorage(t)
	v, err := volumes.Create(t.Context(), storage, volumes.CreateOpts{Size: 1}, nil).Extract()
	if err != nil {
		t.Fatal(err)
	}
	is := func(status string) {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if now, err := volumes.Get(t.Context(), storage, v.ID).Extract(); err == nil && now.Status == status {
				return
			}
		}
		t.Fatalf("volume is not %s", status)
	}
	is("available")
	d.fail("attach", true)
	if _, err := volumeattach.Create(t.Context(), client, s.ID, volumeattach.CreateOpts{VolumeID: v.ID}).Extract(); err != nil {
		t.Fatal(err)
	}
	for !d.did("attach") {
		time.Sleep(time.Millisecond)
	}
	is("available")
	if now := await(t, client, s.ID, "ACTIVE"); len(now.AttachedVolumes) != 0 {
		t.Errorf("the server has %v", now.AttachedVolumes)
	}
}

func TestDriverPausesAndReadsDisks(t *testing.T) {
	t.Parallel()
	d := newDriver()
	cloud := start(t, d)
	client := compute(t, cloud.Member)
	s := await(t, client, boot(t, client, "a", makeImage(t, cloud)).ID, "ACTIVE")
	if err := servers.Pause(t.Context(), client, s.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	await(t, client, s.ID, "PAUSED")
	id, err := servers.CreateImage(t.Context(), client, s.ID, servers.CreateImageOpts{Name: "disk"}).ExtractImageID()
	if err != nil {
		t.Fatal(err)
	}
	await(t, client, s.ID, "PAUSED")
	body, err := imagedata.Download(t.Context(), cloud.Member.Image(t), id).Extract()
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	text := make([]byte, 16)
	if n, _ := body.Read(text); string(text[:n]) != "a disk" || !d.did("pause") {
		t.Errorf("image %q, paused %t", text[:n], d.did("pause"))
	}
}

// The image of a server's disk is raw, whatever the image was that the server came from,
// and also when that is gone.
func TestImageOfADiskIsRaw(t *testing.T) {
	t.Parallel()
	cloud := start(t, newDriver())
	client, glance := compute(t, cloud.Member), cloud.Member.Image(t)
	base, err := images.Create(t.Context(), glance, images.CreateOpts{Name: "base", ContainerFormat: "bare", DiskFormat: "qcow2"}).Extract()
	if err == nil {
		err = imagedata.Upload(t.Context(), glance, base.ID, strings.NewReader("boot me")).ExtractErr()
	}
	if err != nil {
		t.Fatal(err)
	}
	s := await(t, client, boot(t, client, "a", base.ID).ID, "ACTIVE")
	for _, gone := range []bool{false, true} {
		if gone {
			if err := images.Delete(t.Context(), glance, base.ID).ExtractErr(); err != nil {
				t.Fatal(err)
			}
		}
		id, err := servers.CreateImage(t.Context(), client, s.ID, servers.CreateImageOpts{Name: "disk"}).ExtractImageID()
		if err != nil {
			t.Fatal(err)
		}
		await(t, client, s.ID, "ACTIVE")
		made, err := images.Get(t.Context(), glance, id).Extract()
		if err != nil || made.DiskFormat != "raw" || made.Status != images.ImageStatusActive || made.VirtualSize != int64(len("a disk")) {
			t.Errorf("base gone: %t: %+v, %v", gone, made, err)
		}
	}
}

// An image of a disk that was complete when the sandbox ended is kept by the next process,
// which finds the server still at it.
func TestImageThatWasCompleteIsKept(t *testing.T) {
	t.Parallel()
	cloud := start(t, newDriver())
	client := compute(t, cloud.Member)
	s := await(t, client, boot(t, client, "a", makeImage(t, cloud)).ID, "ACTIVE")
	complete := makeImage(t, cloud)
	if err := cloud.Env.Store.Update(func(tx *store.Tx) error {
		cloud.Env.Model.Compute.Servers.Change(tx, s.ID, func(v *model.Server) { v.TaskState, v.SnapshotID = "image_uploading", complete })
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	await(t, client, s.ID, "ACTIVE")
	if made, err := images.Get(t.Context(), cloud.Member.Image(t), complete).Extract(); err != nil || made.Status != images.ImageStatusActive {
		t.Errorf("%+v, %v", made, err)
	}
}

// A port that is deleted in Neutron leaves its server.
func TestPortDeletedInNeutron(t *testing.T) {
	t.Parallel()
	cloud := start(t, nil)
	client := compute(t, cloud.Member)
	s, err := servers.Create(t.Context(), client, servers.CreateOpts{Name: "a", FlavorRef: "1", ImageRef: makeImage(t, cloud),
		Networks: []servers.Network{{UUID: network(t, cloud)}}}, nil).Extract()
	if err != nil {
		t.Fatal(err)
	}
	await(t, client, s.ID, "ACTIVE")
	pages, err := ports.List(cloud.Member.Network(t), ports.ListOpts{DeviceID: s.ID}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := ports.ExtractPorts(pages)
	if err != nil || len(list) != 1 {
		t.Fatalf("ports %v, %v", list, err)
	}
	if err := ports.Delete(t.Context(), cloud.Member.Network(t), list[0].ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	for len(await(t, client, s.ID, "ACTIVE").Addresses) > 0 {
		time.Sleep(5 * time.Millisecond)
	}
}

// A server whose machine cannot be made stays on the shelf, and comes back the next time.
func TestUnshelveThatFails(t *testing.T) {
	t.Parallel()
	d := newDriver()
	cloud := start(t, d)
	client := compute(t, cloud.Member)
	s := await(t, client, boot(t, client, "a", makeImage(t, cloud)).ID, "ACTIVE")
	if err := servers.Shelve(t.Context(), client, s.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	await(t, client, s.ID, "SHELVED_OFFLOADED")
	for _, fails := range []bool{true, false} {
		d.fail("create", fails)
		if err := servers.Unshelve(t.Context(), client, s.ID, servers.UnshelveOpts{}).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		await(t, client, s.ID, map[bool]string{true: "SHELVED_OFFLOADED", false: "ACTIVE"}[fails])
	}
}

// A server whose image was deleted comes back from the shelf: the driver has the bytes.
func TestUnshelveWithoutItsImage(t *testing.T) {
	t.Parallel()
	cloud := start(t, newDriver())
	client := compute(t, cloud.Member)
	image := makeImage(t, cloud)
	s := await(t, client, boot(t, client, "a", image).ID, "ACTIVE")
	if err := servers.Shelve(t.Context(), client, s.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	await(t, client, s.ID, "SHELVED_OFFLOADED")
	if err := images.Delete(t.Context(), cloud.Member.Image(t), image).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if err := servers.Unshelve(t.Context(), client, s.ID, servers.UnshelveOpts{}).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	await(t, client, s.ID, "ACTIVE")
}
