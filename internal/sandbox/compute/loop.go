package compute

import (
	"context"
	"errors"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/reconcile"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// workers is how many servers are worked on at the same time: booting a machine is mostly waiting.
const workers = 8

// pollEvery is how often a machine is asked whether it still runs.
const pollEvery = 15 * time.Second

// servers reconciles the machines with the servers until the context ends.
func (s *service) servers(ctx context.Context) {
	s.removeUnknown(ctx)
	reconcile.Loop{Name: "servers", Feed: s.model.Servers.Subscribe(), Work: s.work, Workers: workers,
		Clock: s.env.Timing.Clock, Events: s.env.Events}.Run(ctx)
}

// removeUnknown removes machines that belong to no server, such as those of a deleted state file.
func (s *service) removeUnknown(ctx context.Context) {
	ids, err := s.env.Host.Machines().List(ctx)
	if err != nil {
		s.note("listing machines", err)
		return
	}
	for _, id := range ids {
		if _, known := s.read(id); known {
			continue
		}
		if err := s.env.Host.Machines().Delete(ctx, id); err != nil {
			s.note("removing machine "+id, err)
		}
	}
}

// read returns a server as it is now.
func (s *service) read(id string) (v model.Server, ok bool) {
	_ = s.env.Store.View(func(r store.Reader) error {
		v, ok = s.model.Servers.Get(r, id)
		return nil
	})
	return v, ok
}

// work does the next step of one server's task, or looks after its machine
// when there is none.
func (s *service) work(ctx context.Context, id string) (time.Duration, error) {
	v, ok := s.read(id)
	if !ok {
		s.forget(id)
		return 0, nil
	}
	if v.Pending != nil {
		if wait := v.Pending.At.Sub(s.env.Timing.Now()); wait > 0 {
			return wait, nil
		}
	}
	if v.TaskState == "" {
		return s.look(ctx, v)
	}
	step, ok := s.steps()[v.TaskState]
	if !ok {
		return 0, nil
	}
	return step(ctx, v)
}

// step is what is done when the time of a task has come. If it returns a delay, it is called again;
// so it is after an error, which is also written to the log.
type step func(ctx context.Context, v model.Server) (time.Duration, error)

// advance changes a server after a step, unless something else was begun on it meanwhile: then the
// step's result no longer counts.
func (s *service) advance(v model.Server, edit func(tx *store.Tx, n *model.Server) error) error {
	return s.env.Store.Update(func(tx *store.Tx) error {
		now, ok := s.model.Servers.Get(tx, v.ID)
		if !ok || now.TaskState != v.TaskState || now.ActionID != v.ActionID {
			return nil
		}
		var err error
		s.model.Servers.Change(tx, v.ID, func(n *model.Server) {
			n.UpdatedAt = s.env.Timing.Now()
			err = edit(tx, n)
		})
		return err
	})
}

// start begins a task of a server; usual is how long the task usually takes.
func (s *service) start(n *model.Server, task string, usual time.Duration) {
	n.TaskState, n.Pending = task, s.env.Timing.Start(task, usual)
}

// finish ends the task of a server and sets its state.
func (s *service) finish(tx *store.Tx, n *model.Server, state string) {
	n.VMState, n.PowerState = state, power(state)
	s.idle(tx, n, "")
}

// idle ends the task of a server and its action, with the problem if any.
func (s *service) idle(tx *store.Tx, n *model.Server, problem string) {
	n.TaskState, n.Pending = "", nil
	s.end(tx, n.ActionID, n.Host, problem)
}

// fail puts a server in error with a fault that its owner can read.
func (s *service) fail(v model.Server, cause error) error {
	code, message := status(cause)
	return s.advance(v, func(tx *store.Tx, n *model.Server) error {
		n.VMState, n.Fault = model.ServerError, s.fault(code, message, cause)
		s.idle(tx, n, message)
		return nil
	})
}

func (s *service) fault(code int, message string, cause error) *model.ServerFault {
	f := &model.ServerFault{Code: code, Message: message, Created: s.env.Timing.Now()}
	if inner := errors.Unwrap(cause); inner != nil {
		f.Details = inner.Error()
	}
	return f
}

// machines is the driver.
func (s *service) machines() machine.Machines { return s.env.Host.Machines() }

// driver turns an error of a driver into a cause that users read, and returns the end of the
// context as it is: then the step is done again after the next start.
func driver(ctx context.Context, err error, format string, args ...any) error {
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	return &trouble{api.Errorf(500, "", format, args...), err}
}

// trouble is an error of a driver: users read the API's message, administrators the message of the
// driver.
type trouble struct {
	shown *api.Error
	inner error
}

// Error returns what users read.
func (t *trouble) Error() string { return t.shown.Message }

// Unwrap returns the error of the driver.
func (t *trouble) Unwrap() error { return t.inner }

// As lets the message be found as an API error.
func (t *trouble) As(target any) bool {
	if e, ok := target.(**api.Error); ok {
		*e = t.shown
		return true
	}
	return false
}
