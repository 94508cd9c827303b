package compute

import (
	"context"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// shelved stops the machine and then begins to free the host, as Nova does at once by default. The
// machine keeps its disk, so no image is made of it.
func (s *service) shelved(ctx context.Context, v model.Server) (time.Duration, error) {
	err := s.pause(ctx, v.ID, false)
	if err == nil {
		err = s.machines().Stop(ctx, v.ID)
	}
	if err != nil {
		return 0, s.broken(ctx, v, err)
	}
	return 0, s.advance(v, func(tx *store.Tx, n *model.Server) error {
		n.VMState, n.PowerState = model.ServerShelved, power(model.ServerShelved)
		s.cardsActive(tx, *n, false)
		s.start(n, taskOffloading, time.Second)
		return nil
	})
}

// offloaded frees the host.
func (s *service) offloaded(_ context.Context, v model.Server) (time.Duration, error) {
	return 0, s.advance(v, func(tx *store.Tx, n *model.Server) error {
		s.finish(tx, n, model.ServerOffloaded)
		n.Host = ""
		return nil
	})
}

// stays records why a server stays shelved: unshelving can be retried, but in ERROR a server
// without a host could only be deleted.
func (s *service) stays(v model.Server, cause error) error {
	code, message := status(cause)
	return s.advance(v, func(tx *store.Tx, n *model.Server) error {
		n.Fault = s.fault(code, message, cause)
		s.idle(tx, n, message)
		return nil
	})
}

// unshelve finds a host and runs the machine again.
func (s *service) unshelve(ctx context.Context, v model.Server) (time.Duration, error) {
	place := v
	var failed error
	err := s.env.Store.View(func(r store.Reader) error {
		if v.Host != "" {
			return nil // only shelved, and its host still its own
		}
		host, ok := s.pick(r, v, v.Flavor, "")
		if !ok {
			failed = errNoHost()
		}
		place.Host = host
		return nil
	})
	if err != nil {
		return 0, err
	}
	if failed != nil {
		return 0, s.stays(v, failed)
	}
	found, err := s.again(ctx, place, false)
	if err != nil {
		cause := driver(ctx, err, "Failed to complete the operation %s on instance %s.", v.TaskState, v.ID)
		if ctx.Err() != nil {
			return 0, cause
		}
		return 0, s.stays(v, cause)
	}
	return 0, s.advance(v, func(tx *store.Tx, n *model.Server) error {
		n.Host, n.Fault = place.Host, nil
		n.Zone = s.zone(tx, n.Host)
		for _, p := range n.Ports {
			if _, err := s.ports.Bind(tx, p.PortID, binding(*n)); err != nil {
				s.note("binding port "+p.PortID, err)
			}
		}
		s.running(tx, n, found)
		s.finish(tx, n, model.ServerActive)
		return nil
	})
}
