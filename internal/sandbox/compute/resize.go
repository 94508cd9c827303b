package compute

import (
	"context"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// resizePrep finds the host for a resize or cold migration. Without a host, the server stays as it
// was, with a fault that says why.
func (s *service) resizePrep(_ context.Context, v model.Server) (time.Duration, error) {
	refused := s.env.Faults.Hit(faultinject.NoValidHost, "compute", v.Name)
	return 0, s.advance(v, func(tx *store.Tx, n *model.Server) error {
		except := ""
		if n.Before.Resized.ID == n.Flavor.ID {
			except = n.Host // a migration goes to another host
		}
		host, ok := s.pick(tx, *n, *n.Before.Resized, except)
		if refused || !ok {
			message := "No valid host found for resize"
			if except != "" {
				message = "No valid host found for cold migrate"
			}
			n.Fault = s.fault(400, message, api.BadRequest("%s", message))
			n.Before = nil
			s.idle(tx, n, message)
			return nil
		}
		n.Before.Target = host
		s.start(n, taskResizeMigrating, 2*time.Second)
		return nil
	})
}

func (s *service) resizeMigrate(ctx context.Context, v model.Server) (time.Duration, error) {
	if err := s.machines().Stop(ctx, v.ID); err != nil {
		return 0, s.broken(ctx, v, err)
	}
	return 0, s.advance(v, func(_ *store.Tx, n *model.Server) error {
		old := n.Flavor
		n.Before.Host, n.Before.Flavor = n.Host, &old
		n.Host, n.Flavor = n.Before.Target, *n.Before.Resized
		s.start(n, taskResizeFinish, 2*time.Second)
		return nil
	})
}

// withSize gives a machine the size that the server has, and starts it unless the server was off.
// It stops the machine first, because an earlier process that was ended here may have started it
// already.
func (s *service) withSize(ctx context.Context, v model.Server) error {
	if err := s.machines().Stop(ctx, v.ID); err != nil {
		return err
	}
	if r, ok := s.machines().(machine.Resizer); ok {
		var spec machine.Spec
		if err := s.env.Store.View(func(r store.Reader) error { spec = s.spec(r, v); return nil }); err != nil {
			return err
		}
		if err := r.Resize(ctx, spec); err != nil {
			return err
		}
	}
	if v.Before.VMState == model.ServerStopped {
		return nil
	}
	return s.createMachine(ctx, v)
}

// resizeFinish runs the machine with the new size.
func (s *service) resizeFinish(ctx context.Context, v model.Server) (time.Duration, error) {
	if err := s.withSize(ctx, v); err != nil {
		return 0, s.broken(ctx, v, err)
	}
	return 0, s.advance(v, func(tx *store.Tx, n *model.Server) error {
		n.Zone = s.zone(tx, n.Host)
		s.finish(tx, n, model.ServerResized)
		n.PowerState = power(n.Before.VMState)
		return nil
	})
}

// resizeRevert runs the machine with the former size and on the former host.
func (s *service) resizeRevert(ctx context.Context, v model.Server) (time.Duration, error) {
	old := v
	old.Flavor, old.Host = *v.Before.Flavor, v.Before.Host
	if err := s.withSize(ctx, old); err != nil {
		return 0, s.broken(ctx, v, err)
	}
	return 0, s.advance(v, func(tx *store.Tx, n *model.Server) error {
		n.Flavor, n.Host = *n.Before.Flavor, n.Before.Host
		n.Zone = s.zone(tx, n.Host)
		state := n.Before.VMState
		n.Before = nil
		s.finish(tx, n, state)
		return nil
	})
}

// liveMigrated ends a live migration: the server continues to run on another host.
func (s *service) liveMigrated(_ context.Context, v model.Server) (time.Duration, error) {
	return 0, s.advance(v, func(tx *store.Tx, n *model.Server) error {
		n.Host = n.Before.Target
		n.Zone = s.zone(tx, n.Host)
		n.Before = nil
		s.idle(tx, n, "")
		return nil
	})
}
