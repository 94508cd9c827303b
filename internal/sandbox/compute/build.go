package compute

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/image"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
	"github.com/slipway-sh/slipway/internal/sandbox/volume"
)

// volumePoll is how often a volume that is being created is checked.
const volumePoll = 50 * time.Millisecond

// aborted returns Nova's error for a build that was ended, with the reason.
func aborted(v model.Server, format string, args ...any) error {
	return api.Errorf(500, "", "Build of instance %s aborted: %s", v.ID, fmt.Sprintf(format, args...))
}

// allocate creates or takes the ports of a new server.
func (s *service) allocate(_ context.Context, v model.Server) (time.Duration, error) {
	err := s.advance(v, func(tx *store.Tx, n *model.Server) error {
		for _, want := range n.Networks {
			if _, err := s.addPort(tx, n, want); err != nil {
				return err
			}
		}
		n.Networks = nil
		s.start(n, taskBlockDevices, 0)
		return nil
	})
	if code, message := status(err); err != nil && code < 500 {
		return 0, s.buildFailed(v, aborted(v, "Failed to allocate the network(s) with error %s, not rescheduling.", message))
	}
	return 0, err
}

// buildFailed releases the resources of a server that could not be created.
func (s *service) buildFailed(v model.Server, cause error) error {
	code, message := status(cause)
	return s.advance(v, func(tx *store.Tx, n *model.Server) error {
		for _, p := range n.Ports {
			s.dropPort(tx, p)
		}
		image.Release(tx, s.env.Model, n.ID)
		n.Ports, n.Host, n.VMState = nil, "", model.ServerError
		n.Fault = s.fault(code, message, cause)
		s.idle(tx, n, message)
		return nil
	})
}

// mapDisks creates the volumes of a new server and waits until they are ready.
func (s *service) mapDisks(_ context.Context, v model.Server) (time.Duration, error) {
	waiting := true
	err := s.env.Store.View(func(r store.Reader) error {
		waiting = s.onlyWaits(r, v)
		return nil
	})
	if err != nil || waiting {
		return volumePoll, err
	}
	err = s.advance(v, func(tx *store.Tx, n *model.Server) error {
		ready := true
		for i := range n.Disks {
			if err := s.mapDisk(tx, *n, &n.Disks[i]); err != nil {
				return err
			}
			ready = ready && s.diskNeeds(tx, n.Disks[i]) == needsNothing
		}
		if ready {
			s.start(n, taskSpawning, 3*time.Second)
		}
		return nil
	})
	if code, message := status(err); err != nil && code < 500 {
		return 0, s.buildFailed(v, aborted(v, "%s", message))
	}
	return 0, err
}

// need is what a disk needs next before its server can be created.
type need int

const (
	needsNothing need = iota
	needsTime
	needsVolume
	needsAttachment
	needsHelp
)

func (s *service) diskNeeds(r store.Reader, d model.ServerDisk) need {
	if d.Local {
		return needsNothing
	}
	if d.VolumeID == "" {
		return needsVolume
	}
	made, ok := s.env.Model.Volume.Volumes.Get(r, d.VolumeID)
	switch {
	case !ok || made.Status == model.VolumeError:
		return needsHelp
	case made.Work != nil:
		return needsTime
	case d.AttachmentID == "":
		return needsAttachment
	}
	return needsNothing
}

// onlyWaits reports whether the disks can only be waited for. In that case the record must not be
// written, because that would call this again at once.
func (s *service) onlyWaits(r store.Reader, v model.Server) bool {
	waits := false
	for _, d := range v.Disks {
		switch s.diskNeeds(r, d) {
		case needsTime:
			waits = true
		case needsVolume, needsAttachment, needsHelp:
			return false
		}
	}
	return waits
}

// mapDisk does the next step for one disk.
func (s *service) mapDisk(tx *store.Tx, v model.Server, d *model.ServerDisk) error {
	switch s.diskNeeds(tx, *d) {
	case needsVolume:
		return s.makeVolume(tx, v, d)
	case needsAttachment:
		return s.reserve(tx, v, d)
	case needsHelp:
		return api.BadRequest("Volume %s did not finish being created even after we waited 0 seconds or 1 attempts. And its status is error.", d.VolumeID)
	}
	return nil
}

// spawn creates the machine of a new server.
func (s *service) spawn(ctx context.Context, v model.Server) (time.Duration, error) {
	if err := s.createMachine(ctx, v); err != nil {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		return 0, s.buildFailed(v, err)
	}
	devices, err := s.devices(ctx, v)
	if err != nil {
		return 0, err
	}
	s.mark(v.ID)
	return 0, s.advance(v, func(tx *store.Tx, n *model.Server) error {
		s.running(tx, n, devices)
		if n.LaunchedAt == nil {
			now := s.env.Timing.Now()
			n.LaunchedAt = &now
		}
		s.finish(tx, n, model.ServerActive)
		return nil
	})
}

// createMachine creates the machine of the server, and holds the image for as long as the driver
// reads it. A machine that exists already uses what the driver keeps of the image, and the image
// may have been deleted since.
func (s *service) createMachine(ctx context.Context, v model.Server) error {
	const failed = "Exceeded maximum number of retries. Exhausted all hosts available for retrying build failures for instance %s."
	state, err := s.machines().State(ctx, v.ID)
	if err != nil {
		return driver(ctx, err, failed, v.ID)
	}
	var spec machine.Spec
	err = s.env.Store.Update(func(tx *store.Tx) error {
		spec = s.spec(tx, v)
		if used := bootImage(v); used != "" && state == machine.Gone {
			return image.Hold(tx, s.env.Model, used, v.ID)
		}
		return nil
	})
	if err != nil {
		_, message := status(err)
		return aborted(v, "%s", message)
	}
	err = s.machines().Create(ctx, spec)
	if release := s.env.Store.Update(func(tx *store.Tx) error { image.Release(tx, s.env.Model, v.ID); return nil }); release != nil {
		return release
	}
	if refused := new(machine.Refusal); errors.As(err, &refused) {
		return aborted(v, "%s", refused.Reason)
	}
	return driver(ctx, err, failed, v.ID)
}

// devices asks the driver for the device of each volume in the machine.
func (s *service) devices(ctx context.Context, v model.Server) (map[string]string, error) {
	found := map[string]string{}
	for _, id := range volumes(v) {
		device, err := s.machines().AttachVolume(ctx, v.ID, id)
		if err != nil {
			return nil, fmt.Errorf("attaching volume %s: %w", id, err)
		}
		found[id] = device
	}
	return found, nil
}

// running records that the machine has all ports and disks of the server.
func (s *service) running(tx *store.Tx, n *model.Server, devices map[string]string) {
	for i := range n.Ports {
		card, _ := s.ports.Card(tx, n.Ports[i].PortID)
		n.Ports[i].Plugged, n.Ports[i].Addresses = true, addressesOf(card)
		s.ports.SetActive(tx, n.Ports[i].PortID, true)
	}
	for i := range n.Disks {
		d := &n.Disks[i]
		if device := devices[d.VolumeID]; device != "" {
			d.Device, d.Plugged = device, true
			_ = volume.Attach(tx, s.env, d.AttachmentID, device, n.Host) // gone only if someone forced it
		}
	}
}

// destroy removes the machine of a deleted server, then the server.
func (s *service) destroy(ctx context.Context, v model.Server) (time.Duration, error) {
	if err := s.machines().Delete(ctx, v.ID); err != nil {
		return 0, fmt.Errorf("deleting machine: %w", err)
	}
	return 0, s.env.Store.Update(func(tx *store.Tx) error {
		n, ok := s.model.Servers.Get(tx, v.ID)
		if !ok {
			return nil
		}
		for _, p := range n.Ports {
			s.dropPort(tx, p)
		}
		for _, d := range n.Disks {
			s.dropDisk(tx, d, true)
		}
		image.Release(tx, s.env.Model, n.ID)
		for a := range s.model.ActionsOf.Each(tx, n.ID) {
			s.model.Actions.Delete(tx, a.ID)
		}
		s.model.Payloads.Delete(tx, n.ID)
		s.model.Servers.Delete(tx, n.ID)
		return nil
	})
}
