package contract_test

import (
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/attachinterfaces"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/volumeattach"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
)

// volume makes a volume and waits until it is available.
func (n *nova) volume(t *testing.T, o volumes.CreateOpts) *volumes.Volume {
	t.Helper()
	client := n.clients.BlockStorage(t)
	v := must[*volumes.Volume](t)(volumes.Create(t.Context(), client, o, nil).Extract())
	t.Cleanup(func() {
		eventually(t, "volume "+v.ID+" is deleted", func() bool {
			return gophercloud.ResponseCodeIs(volumes.Delete(cleanup(t), client, v.ID, nil).ExtractErr(), 404)
		})
	})
	n.volumeIs(t, v.ID, "available")
	return v
}

func (n *nova) volumeIs(t *testing.T, id, status string) {
	t.Helper()
	eventually(t, "volume "+id+" is "+status, func() bool {
		return must[*volumes.Volume](t)(volumes.Get(t.Context(), n.clients.BlockStorage(t), id).Extract()).Status == status
	})
}

func TestComputeVolumeAttachments(t *testing.T) {
	t.Parallel()
	n := newNova(t)
	n.compute.Microversion = "2.79"
	v := n.volume(t, volumes.CreateOpts{Size: 1, Name: unique(t)})
	s := n.server(t, n.spec(t))
	a := must[*volumeattach.VolumeAttachment](t)(volumeattach.Create(t.Context(), n.compute, s.ID, volumeattach.CreateOpts{VolumeID: v.ID, Tag: "data"}).Extract())
	if a.VolumeID != v.ID || a.ServerID != s.ID || a.Device != "/dev/vdb" || a.Tag == nil || *a.Tag != "data" || *a.DeleteOnTermination {
		t.Errorf("attachment %+v", a)
	}
	n.volumeIs(t, v.ID, "in-use")
	inUse := must[*volumes.Volume](t)(volumes.Get(t.Context(), n.clients.BlockStorage(t), v.ID).Extract())
	if len(inUse.Attachments) != 1 || inUse.Attachments[0].ServerID != s.ID || inUse.Attachments[0].Device != "/dev/vdb" {
		t.Errorf("Cinder tells %+v", inUse.Attachments)
	}
	if now := n.await(t, s.ID, "ACTIVE"); len(now.AttachedVolumes) != 1 || now.AttachedVolumes[0].ID != v.ID {
		t.Errorf("the server has %v", now.AttachedVolumes)
	}
	other := n.server(t, n.spec(t))
	_, err := volumeattach.Create(t.Context(), n.compute, other.ID, volumeattach.CreateOpts{VolumeID: v.ID}).Extract()
	wantStatus(t, err, 400)
	_, err = volumeattach.Get(t.Context(), n.compute, other.ID, v.ID).Extract()
	wantStatus(t, err, 404)
	wantStatus(t, volumes.Delete(t.Context(), n.clients.BlockStorage(t), v.ID, nil).ExtractErr(), 400)
	if err := volumeattach.Delete(t.Context(), n.compute, s.ID, v.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	n.volumeIs(t, v.ID, "available")
	eventually(t, "the attachment is gone", func() bool {
		_, err := volumeattach.Get(t.Context(), n.compute, s.ID, v.ID).Extract()
		return gophercloud.ResponseCodeIs(err, 404)
	})
	must[*volumeattach.VolumeAttachment](t)(volumeattach.Create(t.Context(), n.compute, other.ID, volumeattach.CreateOpts{VolumeID: v.ID}).Extract())
	n.volumeIs(t, v.ID, "in-use")
	if err := servers.Delete(t.Context(), n.compute, other.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	n.volumeIs(t, v.ID, "available") // deleting a server gives its volumes back
}

func TestComputeBootFromVolume(t *testing.T) {
	t.Parallel()
	n := newNova(t)
	o := n.spec(t)
	o.ImageRef = ""
	o.BlockDevice = []servers.BlockDevice{
		{SourceType: servers.SourceImage, DestinationType: servers.DestinationVolume, UUID: n.imageID, VolumeSize: 1, BootIndex: 0, DeleteOnTermination: true},
		{SourceType: servers.SourceBlank, DestinationType: servers.DestinationVolume, VolumeSize: 1, BootIndex: -1, DeleteOnTermination: true, Tag: "etcd"},
	}
	s := n.server(t, o)
	if s.Image != nil || len(s.AttachedVolumes) != 2 {
		t.Fatalf("server %+v", s)
	}
	root := s.AttachedVolumes[0].ID
	v := must[*volumes.Volume](t)(volumes.Get(t.Context(), n.clients.BlockStorage(t), root).Extract())
	if v.Bootable != "true" || v.Status != "in-use" || v.Attachments[0].Device != "/dev/vda" {
		t.Errorf("root volume %+v", v)
	}
	wantStatus(t, volumeattach.Delete(t.Context(), n.compute, s.ID, root).ExtractErr(), 400)
	if err := servers.Delete(t.Context(), n.compute, s.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	for _, a := range s.AttachedVolumes {
		eventually(t, "volume goes with its server", func() bool {
			_, err := volumes.Get(t.Context(), n.clients.BlockStorage(t), a.ID).Extract()
			return gophercloud.ResponseCodeIs(err, 404)
		})
	}
}

func TestComputeBootFromExistingVolume(t *testing.T) {
	t.Parallel()
	n := newNova(t)
	v := n.volume(t, volumes.CreateOpts{Size: 1, ImageID: n.imageID})
	o := n.spec(t)
	o.ImageRef = ""
	o.BlockDevice = []servers.BlockDevice{{SourceType: servers.SourceVolume, DestinationType: servers.DestinationVolume, UUID: v.ID}}
	s := n.server(t, o)
	n.volumeIs(t, v.ID, "in-use")
	if err := servers.Delete(t.Context(), n.compute, s.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	n.volumeIs(t, v.ID, "available")
}

func TestComputeRefusesBlockDevices(t *testing.T) {
	t.Parallel()
	n := newNova(t)
	blank := n.volume(t, volumes.CreateOpts{Size: 1})
	const invalid = "Block Device Mapping is Invalid: "
	for name, test := range map[string]struct {
		device  servers.BlockDevice
		message string
	}{
		"unknown volume": {servers.BlockDevice{SourceType: "volume", DestinationType: "volume", UUID: "none"}, invalid + "failed to get volume none."},
		"not bootable":   {servers.BlockDevice{SourceType: "volume", DestinationType: "volume", UUID: blank.ID}, "Block Device " + blank.ID + " is not bootable."},
		"no size":        {servers.BlockDevice{SourceType: "image", DestinationType: "volume", UUID: n.imageID}, "Images with destination_type 'volume' need to have a non-zero size specified"},
		"nothing to boot": {servers.BlockDevice{SourceType: "blank", DestinationType: "volume", VolumeSize: 1, BootIndex: -1},
			invalid + "Boot sequence for the instance and image/block device mapping combination is not valid."},
	} {
		o := n.spec(t)
		o.ImageRef, o.BlockDevice = "", []servers.BlockDevice{test.device}
		_, err := servers.Create(t.Context(), n.compute, o, nil).Extract()
		t.Run(name, func(t *testing.T) { wantCompute(t, err, 400, "badRequest", test.message) })
	}
}

func TestComputeInterfaces(t *testing.T) {
	t.Parallel()
	n := newNova(t)
	s := n.server(t, n.spec(t))
	one := must[*attachinterfaces.Interface](t)(attachinterfaces.Create(t.Context(), n.compute, s.ID, attachinterfaces.CreateOpts{
		NetworkID: n.networkID, FixedIPs: []attachinterfaces.FixedIP{{IPAddress: "10.31.0.77"}}}).Extract())
	if one.NetID != n.networkID || one.FixedIPs[0].IPAddress != "10.31.0.77" || one.FixedIPs[0].SubnetID != n.subnetID {
		t.Errorf("interface %+v", one)
	}
	_, err := attachinterfaces.Create(t.Context(), n.compute, s.ID, attachinterfaces.CreateOpts{
		NetworkID: n.networkID, FixedIPs: []attachinterfaces.FixedIP{{IPAddress: "10.31.0.77"}}}).Extract()
	wantStatus(t, err, 409)
	given := neutronPort(t, n.clients.Network(t), ports.CreateOpts{NetworkID: n.networkID})
	must[*attachinterfaces.Interface](t)(attachinterfaces.Create(t.Context(), n.compute, s.ID, attachinterfaces.CreateOpts{PortID: given.ID}).Extract())
	_, err = attachinterfaces.Create(t.Context(), n.compute, s.ID, attachinterfaces.CreateOpts{PortID: given.ID}).Extract()
	wantCompute(t, err, 409, "conflictingRequest", "Port "+given.ID+" is still in use.")
	_, err = attachinterfaces.Create(t.Context(), n.compute, s.ID, attachinterfaces.CreateOpts{PortID: "none"}).Extract()
	wantStatus(t, err, 400)
	_, err = attachinterfaces.Create(t.Context(), n.compute, s.ID, attachinterfaces.CreateOpts{PortID: unknownID}).Extract()
	wantStatus(t, err, 404)
	list := func() int {
		pages, err := attachinterfaces.List(n.compute, s.ID).AllPages(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(must[[]attachinterfaces.Interface](t)(attachinterfaces.ExtractInterfaces(pages)))
	}
	if list() != 3 {
		t.Errorf("%d interfaces, want 3", list())
	}
	for _, id := range []string{one.PortID, given.ID} {
		if err := attachinterfaces.Delete(t.Context(), n.compute, s.ID, id).ExtractErr(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "two cards are out", func() bool { return list() == 1 })
	if _, err := ports.Get(t.Context(), n.clients.Network(t), one.PortID).Extract(); !gophercloud.ResponseCodeIs(err, 404) {
		t.Errorf("the port that Nova made: %v", err)
	}
	free := must[*ports.Port](t)(ports.Get(t.Context(), n.clients.Network(t), given.ID).Extract())
	if free.DeviceID != "" {
		t.Errorf("the port that was given: %+v", free)
	}
	wantStatus(t, attachinterfaces.Delete(t.Context(), n.compute, s.ID, given.ID).ExtractErr(), 404)
}
