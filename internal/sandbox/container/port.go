package container

import (
	"context"
	"fmt"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
)

// AttachPort adds a link to the machine, under the next free name.
func (d *Driver) AttachPort(ctx context.Context, id string, port machine.Port) error {
	return d.With(ctx, "attaching a port to", id, func(s *server) error {
		n := nic{Name: s.freeName(port.ID), Port: port}
		if i := slices.IndexFunc(s.NICs, func(o nic) bool { return o.Port.ID == port.ID }); i >= 0 {
			s.NICs[i] = n
		} else {
			s.NICs = append(s.NICs, n)
		}
		if err := s.save(); err != nil {
			return err
		}
		d.Announce(s)
		return s.plug(ctx)
	})
}

func (s *server) freeName(portID string) string {
	for i := 0; ; i++ {
		name := fmt.Sprintf("eth%d", i)
		taken := slices.ContainsFunc(s.NICs, func(n nic) bool { return n.Name == name && n.Port.ID != portID })
		if !taken {
			return name
		}
	}
}

// DetachPort removes the link of a port.
func (d *Driver) DetachPort(ctx context.Context, id, portID string) error {
	return d.WithAny(ctx, "detaching a port from", id, func(s *server) error {
		i := slices.IndexFunc(s.NICs, func(n nic) bool { return n.Port.ID == portID })
		if i < 0 {
			return nil
		}
		if err := d.fabric.Unplug(ctx, s.NICs[i].Port); err != nil {
			return err
		}
		s.NICs = slices.Delete(s.NICs, i, i+1)
		d.Forget(id)
		d.Announce(s)
		return s.save()
	})
}
