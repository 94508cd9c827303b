package compute

import (
	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/image"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/network"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
	"github.com/slipway-sh/slipway/internal/sandbox/volume"
)

// owner is the caller in whose name the service works for a server after the
// request is answered.
func owner(v model.Server) *api.Principal {
	return &api.Principal{ProjectID: v.ProjectID, User: model.User{ID: v.UserID}, Roles: []string{"member", "reader"}}
}

// binding gives a port to a server.
func binding(v model.Server) network.Binding {
	zone := v.Zone
	if zone == "" {
		zone = defaultZone
	}
	return network.Binding{DeviceID: v.ID, DeviceOwner: "compute:" + zone, HostID: v.Host, DNSName: v.Hostname}
}

// addPort creates or takes the port that was asked for and records it.
func (s *service) addPort(tx *store.Tx, v *model.Server, want model.ServerNetwork) (model.Port, error) {
	var port model.Port
	var err error
	if want.PortID != "" {
		port, err = s.ports.Bind(tx, want.PortID, binding(*v))
	} else {
		spec := network.PortSpec{ProjectID: v.ProjectID, NetworkID: want.NetworkID, Binding: binding(*v)}
		if want.FixedIP != "" {
			spec.FixedIPs = []model.FixedIP{{IPAddress: want.FixedIP}}
		}
		if spec.Groups, err = s.groupIDs(tx, *v); err != nil {
			return port, err
		}
		port, err = s.ports.Allocate(tx, owner(*v), spec)
	}
	if err != nil {
		return port, err
	}
	v.Ports = append(v.Ports, model.ServerPort{PortID: port.ID, Made: want.PortID == "", Tag: want.Tag})
	return port, nil
}

// groupIDs returns the security groups that were asked for; nil leaves the choice to Neutron, which
// takes the default group.
func (s *service) groupIDs(tx *store.Tx, v model.Server) ([]string, error) {
	var ids []string
	for _, name := range v.SecurityGroups {
		g, err := s.ports.SecurityGroup(tx, v.ProjectID, name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, g.ID)
	}
	return ids, nil
}

// dropPort deletes a port that Nova created and releases one that was given to it.
func (s *service) dropPort(tx *store.Tx, p model.ServerPort) {
	if p.Made && s.ports.Release(tx, p.PortID) == nil {
		return
	}
	s.ports.Unbind(tx, p.PortID)
}

// reserve claims the volume of a disk.
func (s *service) reserve(tx *store.Tx, v model.Server, d *model.ServerDisk) error {
	a, err := volume.Reserve(tx, s.env, d.VolumeID, v.ID)
	d.AttachmentID = a.ID
	return err
}

// makeVolume creates the volume of a disk, from an image or a snapshot, or blank.
func (s *service) makeVolume(tx *store.Tx, v model.Server, d *model.ServerDisk) error {
	spec := volume.Spec{Size: d.SizeGiB, Type: d.VolumeType}
	switch d.Source {
	case "image":
		spec.ImageID = d.SourceID
	case "snapshot":
		spec.SnapshotID = d.SourceID
	}
	made, err := volume.Create(tx, s.env, owner(v), spec)
	d.VolumeID = made.ID
	return err
}

// dropDisk ends the attachment of a disk; withServer deletes the volume too if it is to be deleted
// with the server.
func (s *service) dropDisk(tx *store.Tx, d model.ServerDisk, withServer bool) {
	if d.VolumeID == "" {
		return
	}
	volume.Detach(tx, s.env, d.AttachmentID)
	if withServer && d.Delete {
		_ = volume.Delete(tx, s.env, d.VolumeID) // one with snapshots stays, as in Nova
	}
}

// usableImage finds an image that a server can be created from.
func (s *service) usableImage(r store.Reader, p *api.Principal, id string) (model.Image, error) {
	v, err := image.Get(r, s.env.Model, p, id)
	switch {
	case err != nil:
		return v, api.BadRequest("Can not find requested image")
	case v.Status != model.ImageActive:
		return v, api.BadRequest("Image %s is not active.", id)
	}
	return v, nil
}
