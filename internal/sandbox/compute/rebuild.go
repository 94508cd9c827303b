package compute

import (
	"context"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// tearDown removes the machine of a server that is rebuilt.
func (s *service) tearDown(ctx context.Context, v model.Server) (time.Duration, error) {
	if err := s.machines().Delete(ctx, v.ID); err != nil {
		return 0, s.broken(ctx, v, err)
	}
	return 0, s.advance(v, func(_ *store.Tx, n *model.Server) error {
		s.start(n, taskRebuildSpawning, 3*time.Second)
		return nil
	})
}

// again creates the machine again with all its disks, and stops it if the server should be off.
func (s *service) again(ctx context.Context, v model.Server, off bool) (map[string]string, error) {
	if err := s.createMachine(ctx, v); err != nil {
		return nil, err
	}
	found, err := s.devices(ctx, v)
	if err == nil && off {
		err = s.machines().Stop(ctx, v.ID)
	}
	s.mark(v.ID)
	return found, err
}

// rebuilt creates the machine of a rebuilt server; one that was off is off again.
func (s *service) rebuilt(ctx context.Context, v model.Server) (time.Duration, error) {
	off := v.VMState == model.ServerStopped
	found, err := s.again(ctx, v, off)
	if err != nil {
		return 0, s.broken(ctx, v, err)
	}
	state := model.ServerActive
	if off {
		state = model.ServerStopped
	}
	return 0, s.advance(v, func(tx *store.Tx, n *model.Server) error {
		now := s.env.Timing.Now()
		n.LaunchedAt, n.Fault = &now, nil
		s.running(tx, n, found)
		s.cardsActive(tx, *n, !off)
		s.finish(tx, n, state)
		return nil
	})
}

// rescued boots the rescue image instead of the server's own disk, which is kept.
func (s *service) rescued(ctx context.Context, v model.Server) (time.Duration, error) {
	err := s.setAside(ctx, v.ID)
	if err == nil {
		_, err = s.again(ctx, v, false)
	}
	return s.to(ctx, v, model.ServerRescued, err)
}

// setAside ends a machine and keeps its disk, if the driver can.
func (s *service) setAside(ctx context.Context, id string) error {
	if r, ok := s.machines().(machine.Rescuer); ok {
		return r.SetAside(ctx, id)
	}
	return s.machines().Delete(ctx, id)
}

// bringBack removes the machine that booted the rescue image.
func (s *service) bringBack(ctx context.Context, v model.Server) error {
	r, ok := s.machines().(machine.Rescuer)
	if !ok {
		return s.machines().Delete(ctx, v.ID)
	}
	var spec machine.Spec
	if err := s.env.Store.View(func(tx store.Reader) error { spec = s.spec(tx, v); return nil }); err != nil {
		return err
	}
	return r.BringBack(ctx, spec)
}

// unrescued boots the server's own disk again.
func (s *service) unrescued(ctx context.Context, v model.Server) (time.Duration, error) {
	own := v
	own.RescueImage = ""
	err := s.bringBack(ctx, own)
	if err == nil {
		_, err = s.again(ctx, own, false)
	}
	if err != nil {
		return 0, s.broken(ctx, v, err)
	}
	return 0, s.advance(v, func(tx *store.Tx, n *model.Server) error {
		n.RescueImage, n.Fault = "", nil
		s.cardsActive(tx, *n, true)
		s.finish(tx, n, model.ServerActive)
		return nil
	})
}
