package compute

import (
	"context"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// to ends the task of a server in a state, after the driver's part; an error of the driver puts the
// server in error.
func (s *service) to(ctx context.Context, v model.Server, state string, err error) (time.Duration, error) {
	if err != nil {
		return 0, s.broken(ctx, v, err)
	}
	return 0, s.advance(v, func(tx *store.Tx, n *model.Server) error {
		n.Fault = nil
		s.cardsActive(tx, *n, runs(state))
		s.finish(tx, n, state)
		return nil
	})
}

// broken puts a server in error because the driver failed with its machine.
func (s *service) broken(ctx context.Context, v model.Server, err error) error {
	cause := driver(ctx, err, "Failed to complete the operation %s on instance %s.", v.TaskState, v.ID)
	if ctx.Err() != nil {
		return cause
	}
	return s.fail(v, cause)
}

func (s *service) powerOff(ctx context.Context, v model.Server) (time.Duration, error) {
	return s.to(ctx, v, model.ServerStopped, s.machines().Stop(ctx, v.ID))
}

func (s *service) powerOn(ctx context.Context, v model.Server) (time.Duration, error) {
	return s.to(ctx, v, model.ServerActive, s.machines().Start(ctx, v.ID))
}

// reboot restarts the machine; a hard reboot also brings back a machine that is off, or that could
// not be rescued.
func (s *service) reboot(ctx context.Context, v model.Server) (time.Duration, error) {
	hard := v.TaskState == taskRebootingHard
	if hard && v.VMState == model.ServerError && v.RescueImage != "" {
		return s.unrescued(ctx, v)
	}
	if hard && v.VMState != model.ServerActive {
		if err := s.pause(ctx, v.ID, false); err != nil {
			return 0, s.broken(ctx, v, err)
		}
		state, err := s.machines().State(ctx, v.ID)
		switch {
		case err != nil:
			return 0, s.broken(ctx, v, err)
		case state == machine.Stopped:
			return s.to(ctx, v, model.ServerActive, s.machines().Start(ctx, v.ID))
		case state == machine.Gone:
			return s.to(ctx, v, model.ServerActive, s.createMachine(ctx, v))
		}
	}
	return s.to(ctx, v, model.ServerActive, s.machines().Reboot(ctx, v.ID, hard))
}

// pause pauses a machine or lets it continue, if the driver can.
func (s *service) pause(ctx context.Context, id string, on bool) error {
	p, ok := s.machines().(machine.Pauser)
	switch {
	case !ok:
		return nil
	case on:
		return p.Pause(ctx, id)
	}
	return p.Unpause(ctx, id)
}

func (s *service) freeze(state string) step {
	return func(ctx context.Context, v model.Server) (time.Duration, error) {
		return s.to(ctx, v, state, s.pause(ctx, v.ID, true))
	}
}

func (s *service) thaw(ctx context.Context, v model.Server) (time.Duration, error) {
	return s.to(ctx, v, model.ServerActive, s.pause(ctx, v.ID, false))
}

// passwordSet ends changePassword; the new password is in the payload.
func (s *service) passwordSet(ctx context.Context, v model.Server) (time.Duration, error) {
	return s.to(ctx, v, v.VMState, nil)
}
