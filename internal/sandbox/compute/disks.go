package compute

import (
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/volume"
)

// diskInput is an entry of block_device_mapping_v2.
type diskInput struct {
	Source      string  `json:"source_type"`
	Destination string  `json:"destination_type"`
	UUID        string  `json:"uuid"`
	BootIndex   *amount `json:"boot_index"`
	Size        amount  `json:"volume_size"`
	VolumeType  string  `json:"volume_type"`
	Delete      flag    `json:"delete_on_termination"`
	Device      string  `json:"device_name"`
	Tag         string  `json:"tag"`
	NoDevice    flag    `json:"no_device"`
}

func invalidDisk(why string, args ...any) error {
	return api.BadRequest("Block Device Mapping is Invalid: "+why, args...)
}

// disk checks one entry by itself.
func (in diskInput) disk(v api.Microversion) (model.ServerDisk, error) {
	d := model.ServerDisk{ID: model.NewID(), Source: in.Source, SourceID: in.UUID, SizeGiB: int(in.Size), Delete: bool(in.Delete),
		VolumeType: in.VolumeType, Device: in.Device, Tag: in.Tag, BootIndex: -1, Local: in.Destination == "local"}
	if in.BootIndex != nil && *in.BootIndex >= 0 {
		d.BootIndex = int(*in.BootIndex)
	}
	if in.Destination == "" {
		d.Local = in.Source == "image" || in.Source == "blank"
	}
	switch {
	case !slices.Contains([]string{"image", "volume", "snapshot", "blank"}, in.Source):
		return d, api.BadRequest("Invalid input for field/attribute source_type. Value: %s. %q is not one of ['volume', 'image', 'snapshot', 'blank']", in.Source, in.Source)
	case !slices.Contains([]string{"", "volume", "local"}, in.Destination):
		return d, api.BadRequest("Invalid input for field/attribute destination_type. Value: %s. %q is not one of ['volume', 'local']", in.Destination, in.Destination)
	case in.Source != "blank" && in.UUID == "":
		return d, invalidDisk("Missing device UUID.")
	case in.VolumeType != "" && !v.AtLeast(2, 67):
		return d, api.BadRequest("Invalid input for field/attribute 0. Additional properties are not allowed ('volume_type' was unexpected)")
	case d.Local && (in.Source == "volume" || in.Source == "snapshot"):
		return d, invalidDisk("Mapping %s to local is not supported.", in.Source)
	case in.Source == "blank" && !d.Local && d.SizeGiB == 0:
		return d, invalidDisk("Blank volumes (source: 'blank', dest: 'volume') need to have non-zero size")
	case in.Source == "image" && d.Local && d.BootIndex != 0:
		return d, invalidDisk("Mapping image to local is not supported.")
	case in.Source == "image" && !d.Local && d.SizeGiB == 0:
		return d, api.BadRequest("Images with destination_type 'volume' need to have a non-zero size specified")
	}
	if in.Source == "volume" {
		d.VolumeID = in.UUID
	}
	return d, nil
}

// disks sets the disks of the server, the one to boot from first.
func (b *builder) disks() error {
	boots := 0
	for _, in := range b.in.Disks {
		if in.NoDevice {
			continue
		}
		d, err := in.disk(b.call.Version)
		if err != nil {
			return err
		}
		if d.BootIndex == 0 {
			boots++
			if d.Source == "image" && d.Local && b.server.ImageID != "" && d.SourceID == b.server.ImageID {
				continue // says again what imageRef says
			}
			if b.server.ImageID != "" {
				return bootSequence()
			}
		}
		b.server.Disks = append(b.server.Disks, d)
	}
	if boots > 1 || boots == 0 && b.server.ImageID == "" {
		return bootSequence()
	}
	slices.SortStableFunc(b.server.Disks, func(x, y model.ServerDisk) int {
		return bootOrder(x) - bootOrder(y)
	})
	return b.checkDisks()
}

func bootSequence() error {
	return invalidDisk("Boot sequence for the instance and image/block device mapping combination is not valid.")
}

func bootOrder(d model.ServerDisk) int {
	if d.BootIndex < 0 {
		return 1 << 16
	}
	return d.BootIndex
}

// checkDisks checks the entries against the images, volumes and snapshots that they name, and the
// flavor.
func (b *builder) checkDisks() error {
	local := 0
	for _, d := range b.server.Disks {
		switch {
		case d.Source == "image":
			if err := b.checkImageDisk(d); err != nil {
				return err
			}
		case d.Source == "volume":
			if err := b.checkVolumeDisk(d); err != nil {
				return err
			}
		case d.Source == "snapshot":
			snapshot, ok := b.env.Model.Volume.Snapshots.Get(b.tx, d.SourceID)
			if !ok || !b.call.Principal.Owns(snapshot.ProjectID) {
				return invalidDisk("failed to get snapshot %s.", d.SourceID)
			}
		case d.Local:
			local += d.SizeGiB
		}
	}
	if local > b.server.Flavor.Ephemeral {
		return invalidDisk("Ephemeral disks requested are larger than the instance type allows. If no size is given in one block device mapping, flavor ephemeral size will be used.")
	}
	return nil
}

func (b *builder) checkImageDisk(d model.ServerDisk) error {
	img, err := b.usableImage(b.tx, b.call.Principal, d.SourceID)
	if err != nil {
		return invalidDisk("failed to get image %s.", d.SourceID)
	}
	if d.BootIndex == 0 && img.MinRAM > b.server.Flavor.RAM {
		return smallMemory()
	}
	if !d.Local && d.SizeGiB < img.MinDisk {
		return api.BadRequest("Volume is smaller than the minimum size specified in image metadata. Volume size is %d bytes, minimum size is %d bytes.", d.SizeGiB<<30, img.MinDisk<<30)
	}
	return nil
}

func (b *builder) checkVolumeDisk(d model.ServerDisk) error {
	v, err := volume.Get(b.tx, b.env.Model, b.call.Principal, d.VolumeID)
	switch {
	case err != nil:
		return invalidDisk("failed to get volume %s.", d.VolumeID)
	case d.BootIndex == 0 && !v.Bootable:
		return api.BadRequest("Block Device %s is not bootable.", d.VolumeID)
	}
	return nil
}

// reserveDisks claims the volumes that exist, and names the devices.
func (b *builder) reserveDisks(v *model.Server) error {
	for i := range v.Disks {
		d := &v.Disks[i]
		d.ID = model.NewID()
		if d.Device == "" || d.BootIndex == 0 {
			d.Device = ""
			d.Device = nextDevice(*v)
		}
		if d.Source != "volume" {
			continue
		}
		if err := b.reserve(b.tx, *v, d); err != nil {
			return err
		}
	}
	return nil
}

// nextDevice returns the first device name that no disk of the server has. A server that boots from
// an image has its own disk at the first name.
func nextDevice(v model.Server) string {
	for letter := 'a'; letter <= 'z'; letter++ {
		name := "/dev/vd" + string(letter)
		if letter == 'a' && v.ImageID != "" {
			continue
		}
		if !slices.ContainsFunc(v.Disks, func(d model.ServerDisk) bool { return strings.HasSuffix(d.Device, name) }) {
			return name
		}
	}
	return ""
}

// rootDevice is the name of the disk that the server boots from.
func rootDevice(v model.Server) string {
	for _, d := range v.Disks {
		if d.BootIndex == 0 && d.Device != "" {
			return d.Device
		}
	}
	return "/dev/vda"
}

// volumeDisk finds the disk of a server that is the volume.
func volumeDisk(v model.Server, volumeID string) (model.ServerDisk, bool) {
	for _, d := range v.Disks {
		if d.VolumeID == volumeID && volumeID != "" {
			return d, true
		}
	}
	return model.ServerDisk{}, false
}

// volumes returns the volumes that the machine has from the start, in boot order.
func volumes(v model.Server) []string {
	var ids []string
	for _, d := range v.Disks {
		if d.VolumeID != "" && !d.Leaving {
			ids = append(ids, d.VolumeID)
		}
	}
	return ids
}
