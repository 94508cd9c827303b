package compute

import (
	"context"
	"time"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) note(what string, err error) {
	s.env.Events.Emit(event.Event{Time: s.env.Timing.Now(), State: event.Note, Step: "nova", Message: what, Error: err.Error()})
}

// mark remembers that this process has seen the machine of a server in the state that is wanted; it
// reports whether that was known before.
func (s *service) mark(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.restored[id]
	s.restored[id] = true
	return seen
}

func (s *service) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.restored, id)
}

// runs reports whether a server in a state has a machine that runs.
func runs(state string) bool {
	switch state {
	case model.ServerActive, model.ServerPaused, model.ServerSuspended, model.ServerRescued, model.ServerResized:
		return true
	}
	return false
}

// powered reports whether the machine of a server should run: one that was off when its server was
// resized stays off until the resize is confirmed.
func powered(v model.Server) bool {
	off := v.VMState == model.ServerResized && v.Before != nil && v.Before.VMState == model.ServerStopped
	return runs(v.VMState) && !off
}

// look takes care of a server without a task: it brings the machine back after a restart of this
// process, plugs and unplugs cards and disks, and notices a guest that shut itself down.
func (s *service) look(ctx context.Context, v model.Server) (time.Duration, error) {
	switch {
	case v.VMState == model.ServerShelved || v.VMState == model.ServerOffloaded:
	case v.Host == "" || !runs(v.VMState) && v.VMState != model.ServerStopped:
		return 0, nil
	default:
		if err := s.restore(ctx, v); err != nil {
			return 0, err
		}
	}
	for _, plug := range []func(context.Context, model.Server) (bool, error){s.plugCards, s.plugDisks} {
		if changed, err := plug(ctx, v); changed || err != nil {
			return 0, err // the change brings the server here again
		}
	}
	if v.VMState != model.ServerActive && v.VMState != model.ServerPaused {
		return 0, nil // as Nova, which leaves the others to what their owner decides next
	}
	return pollEvery, s.notice(ctx, v)
}

// restore brings the machine to the state of the server, once in a process.
func (s *service) restore(ctx context.Context, v model.Server) error {
	if s.mark(v.ID) {
		return nil
	}
	err := s.revive(ctx, v)
	if err != nil {
		s.forget(v.ID)
	}
	return err
}

func (s *service) revive(ctx context.Context, v model.Server) error {
	state, err := s.machines().State(ctx, v.ID)
	if err != nil {
		return err
	}
	if state == machine.Gone {
		if err := s.createMachine(ctx, v); err != nil {
			return s.fail(v, err)
		}
		if _, err := s.devices(ctx, v); err != nil {
			return err
		}
		state = machine.Running
	}
	switch {
	case powered(v) && state == machine.Stopped:
		err = s.machines().Start(ctx, v.ID)
	case !powered(v) && state == machine.Running:
		err = s.machines().Stop(ctx, v.ID)
	}
	if err == nil && (v.VMState == model.ServerPaused || v.VMState == model.ServerSuspended) {
		err = s.pause(ctx, v.ID, true)
	}
	return err
}

// notice checks for a machine that no longer runs although its server should: it sets the server to
// shut off, as Nova does too.
func (s *service) notice(ctx context.Context, v model.Server) error {
	state, err := s.machines().State(ctx, v.ID)
	if err != nil || state != machine.Stopped {
		return err
	}
	return s.advance(v, func(tx *store.Tx, n *model.Server) error {
		if n.VMState != v.VMState {
			return nil
		}
		n.VMState, n.PowerState = model.ServerStopped, power(model.ServerStopped)
		s.cardsActive(tx, *n, false)
		return nil
	})
}

// cardsActive tells Neutron whether the cards of a server carry traffic.
func (s *service) cardsActive(tx *store.Tx, v model.Server, active bool) {
	for _, p := range v.Ports {
		s.ports.SetActive(tx, p.PortID, active)
	}
}
