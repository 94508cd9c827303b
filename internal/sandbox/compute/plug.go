package compute

import (
	"context"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
	"github.com/slipway-sh/slipway/internal/sandbox/volume"
)

// change edits a server that has no task, even if something else was begun on it meanwhile.
func (s *service) change(id string, edit func(tx *store.Tx, n *model.Server)) error {
	return s.env.Store.Update(func(tx *store.Tx) error {
		s.model.Servers.Change(tx, id, func(n *model.Server) { edit(tx, n) })
		return nil
	})
}

// plugCards plugs the next card into the machine, or removes one, and reports whether there was
// one.
func (s *service) plugCards(ctx context.Context, v model.Server) (bool, error) {
	for _, p := range v.Ports {
		switch {
		case p.Leaving:
			if err := s.machines().DetachPort(ctx, v.ID, p.PortID); err != nil {
				return true, err
			}
			return true, s.change(v.ID, func(tx *store.Tx, n *model.Server) {
				n.Ports = slices.DeleteFunc(n.Ports, func(o model.ServerPort) bool { return o.PortID == p.PortID })
				s.dropPort(tx, p)
				s.end(tx, n.ActionID, n.Host, "")
			})
		case !p.Plugged && v.Host != "": // an offloaded server gets it with its next host
			return true, s.plugCard(ctx, v, p)
		}
	}
	return false, nil
}

func (s *service) plugCard(ctx context.Context, v model.Server, p model.ServerPort) error {
	var card machine.Port
	there := false
	if err := s.env.Store.View(func(r store.Reader) error {
		card, there = s.ports.Card(r, p.PortID)
		return nil
	}); err != nil {
		return err
	}
	if there {
		if err := s.machines().AttachPort(ctx, v.ID, card); err != nil {
			return err
		}
	}
	return s.change(v.ID, func(tx *store.Tx, n *model.Server) {
		now, _ := s.ports.Card(tx, p.PortID) // it may have got other addresses meanwhile
		has := addressesOf(card)
		for i := range n.Ports {
			if n.Ports[i].PortID == p.PortID {
				n.Ports[i].Plugged, n.Ports[i].Addresses = addressesOf(now) == has, has
			}
		}
		s.ports.SetActive(tx, p.PortID, runs(n.VMState))
		if p.Addresses == "" { // one that only gets other addresses is no action on the server
			s.end(tx, n.ActionID, n.Host, "")
		}
	})
}

// plugDisks attaches the next volume to the machine, or detaches one, and reports whether there was
// one.
func (s *service) plugDisks(ctx context.Context, v model.Server) (bool, error) {
	for _, d := range v.Disks {
		switch {
		case d.VolumeID == "":
		case d.Leaving:
			if err := s.machines().DetachVolume(ctx, v.ID, d.VolumeID); err != nil {
				return true, err
			}
			return true, s.change(v.ID, func(tx *store.Tx, n *model.Server) {
				n.Disks = slices.DeleteFunc(n.Disks, func(o model.ServerDisk) bool { return o.ID == d.ID })
				s.dropDisk(tx, d, false)
				s.end(tx, n.ActionID, n.Host, "")
			})
		case !d.Plugged && v.Host != "":
			return true, s.plugDisk(ctx, v, d)
		}
	}
	return false, nil
}

func (s *service) plugDisk(ctx context.Context, v model.Server, d model.ServerDisk) error {
	device, err := s.machines().AttachVolume(ctx, v.ID, d.VolumeID)
	if err != nil && ctx.Err() != nil {
		return err
	}
	return s.change(v.ID, func(tx *store.Tx, n *model.Server) {
		if err != nil { // Nova gives the volume back and says so in the action
			n.Disks = slices.DeleteFunc(n.Disks, func(o model.ServerDisk) bool { return o.ID == d.ID })
			s.dropDisk(tx, d, false)
			s.end(tx, n.ActionID, n.Host, err.Error())
			return
		}
		for i := range n.Disks {
			if n.Disks[i].ID == d.ID {
				n.Disks[i].Plugged, n.Disks[i].Device = true, device
			}
		}
		_ = volume.Attach(tx, s.env, d.AttachmentID, device, n.Host) // gone only if someone forced it
		s.end(tx, n.ActionID, n.Host, "")
	})
}
