package compute

import (
	"cmp"
	"fmt"

	"github.com/slipway-sh/slipway/internal/sandbox/image"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// bootImage returns the image of the machine's own disk; empty when the server boots from a volume.
func bootImage(v model.Server) string {
	if v.RescueImage != "" {
		return v.RescueImage
	}
	if v.ImageID != "" {
		return v.ImageID
	}
	for _, d := range v.Disks {
		if d.Local && d.Source == "image" && d.BootIndex == 0 {
			return d.SourceID
		}
	}
	return ""
}

// The names by which a flavor or an image asks for a sandbox driver; the flavor takes precedence.
const (
	driverSpec     = "slipway:driver"
	driverProperty = "slipway_driver"
)

// bootProperties returns the properties of the image that the server boots from, or from which the
// volume that it boots from was created.
func (s *service) bootProperties(r store.Reader, v model.Server) map[string]string {
	if id := bootImage(v); id != "" {
		img, _ := s.env.Model.Image.Images.Get(r, id)
		return img.Properties
	}
	for _, d := range v.Disks {
		if d.VolumeID != "" && d.BootIndex == 0 {
			boot, _ := s.env.Model.Volume.Volumes.Get(r, d.VolumeID)
			return boot.ImageMetadata
		}
	}
	return nil
}

// firstSlot is the place of the first local disk on the machine's PCI bus.
const firstSlot = 0x10

// disks returns the disks of a server that are no volumes, and all disks that have tags.
func disks(v model.Server) (local []machine.LocalDisk, tagged []machine.Device) {
	for _, d := range v.Disks {
		device := machine.Device{Serial: d.VolumeID, Tag: d.Tag}
		if d.Local && d.Source == "blank" {
			device.Address = fmt.Sprintf("0000:00:%02x.0", firstSlot+len(local))
			local = append(local, machine.LocalDisk{GiB: d.SizeGiB, Address: device.Address})
		}
		if d.Tag != "" && !d.Leaving {
			tagged = append(tagged, device)
		}
	}
	return local, tagged
}

// spec returns the machine that a server should have.
func (s *service) spec(r store.Reader, v model.Server) machine.Spec {
	payload, _ := s.model.Payloads.Get(r, v.ID)
	spec := machine.Spec{
		ID: v.ID, Name: v.Name, ProjectID: v.ProjectID,
		VCPUs: v.Flavor.VCPUs, MemoryMiB: v.Flavor.RAM, DiskGiB: v.Flavor.Disk,
		Volumes: volumes(v), ConfigDrive: v.ConfigDrive, Trouble: v.Trouble,
		Metadata: machine.Metadata{UserData: payload.UserData, Hostname: v.Hostname, AvailabilityZone: v.Zone,
			PublicKeys: map[string]string{}, Values: orEmpty(v.Metadata), Files: payload.Files, Password: payload.Password},
	}
	if spec.Local, spec.Metadata.Devices = disks(v); v.RescueImage != "" {
		spec.Local = nil // they stay with the machine that is set aside
	}
	if id := bootImage(v); id != "" {
		spec.Image = image.File(s.env, id)
	}
	properties := s.bootProperties(r, v)
	spec.Driver = cmp.Or(v.Flavor.ExtraSpecs[driverSpec], properties[driverProperty])
	spec.UEFI = properties["hw_firmware_type"] == "uefi"
	if v.KeyName != "" && payload.KeyType != "x509" {
		spec.Metadata.PublicKeys[v.KeyName] = payload.PublicKey
	}
	for _, p := range v.Ports {
		if p.Leaving {
			continue
		}
		if card, ok := s.ports.Card(r, p.PortID); ok {
			spec.Ports = append(spec.Ports, card)
		}
	}
	return spec
}
