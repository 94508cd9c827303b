package target

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/remote"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// wakeRemedy is what to do about a shelved seed.
const wakeRemedy = "slipway seed wake, then run the same command again"

// Nova's words for a shelved server: with its host, and without.
const (
	shelved   = "SHELVED"
	offloaded = "SHELVED_OFFLOADED"
)

// IsShelved says that a server's state, in Nova's words, is that of a shelved
// one.
func IsShelved(state string) bool { return state == shelved || state == offloaded }

// ShelvedSeed says that the seed is among the things, and shelved.
func ShelvedSeed(things []openstack.Thing) bool {
	return slices.ContainsFunc(things, func(t openstack.Thing) bool {
		return t.Type == openstack.ThingServer && t.Step == stacks.StepSeed && IsShelved(t.State)
	})
}

// Shelved says that the seed is; an environment without one has none.
func (t *Target) Shelved(ctx context.Context) (bool, error) {
	things, err := t.Inventory.List(ctx, t.Name())
	return ShelvedSeed(things), err
}

// ErrShelved is the refusal of work that needs the seed.
func (t *Target) ErrShelved() error {
	return fault.New("seed "+t.Environment.ResourceName(stacks.StepSeed), errors.New("it is shelved, and everything is changed through it"), wakeRemedy)
}

// The time that Nova may take to shelve or wake a server, what a refusal that
// shows only by nothing happening takes, and what Kubernetes takes to answer.
const (
	shelfTime    = 10 * time.Minute
	shelfIdle    = 20 * time.Second
	answerTime   = 5 * time.Minute
	sshSilence   = 5 * time.Minute
	sshRefused   = 30 * time.Second
	lookEvery    = 2 * time.Second
	answerWithin = 10 * time.Second
)

// Shelve shelves the seed's server and waits until it is.
func (t *Target) Shelve(ctx context.Context, seed *Seed, progress event.Sink) (state string, err error) {
	step := event.Start(progress, stacks.StepSeed, "shelving")
	state, err = t.bring(ctx, seed, step, IsShelved, func(ctx context.Context) error {
		client, err := t.Cloud.Compute()
		if err != nil {
			return err
		}
		return servers.Shelve(ctx, client, seed.ServerID).ExtractErr()
	})
	step.End(state, err)
	return state, err
}

// Wake unshelves the seed's server and waits until its Kubernetes answers.
func (t *Target) Wake(ctx context.Context, seed *Seed, progress event.Sink) (state string, err error) {
	step := event.Start(progress, stacks.StepSeed, "waking")
	state, err = t.bring(ctx, seed, step, func(state string) bool { return state == "ACTIVE" }, func(ctx context.Context) error {
		client, err := t.Cloud.Compute()
		if err != nil {
			return err
		}
		return servers.Unshelve(ctx, client, seed.ServerID, servers.UnshelveOpts{}).ExtractErr()
	})
	if err == nil {
		err = seed.answers(ctx, step)
	}
	step.End(state, err)
	return state, err
}

// bring asks for a change of state, once, and waits until it is done. Nova
// tells of a change that it cannot make by doing nothing.
func (t *Target) bring(ctx context.Context, seed *Seed, step *event.Step, done func(state string) bool, ask func(context.Context) error) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, shelfTime, fmt.Errorf("it is not done after %s", shelfTime))
	defer cancel()
	client, err := t.Cloud.Compute()
	if err != nil {
		return "", err
	}
	asked := time.Time{}
	for {
		s, err := servers.Get(ctx, client, seed.ServerID).Extract()
		if err != nil {
			return "", t.Cloud.Fault("server "+seed.Name, err)
		}
		idle := s.TaskState == ""
		switch {
		case s.Status == "ERROR", idle && !asked.IsZero() && time.Since(asked) > shelfIdle && !done(s.Status):
			cause := s.Fault.Message
			if cause == "" {
				cause = "the cloud says no more"
			}
			return s.Status, fault.New("server "+seed.Name, fmt.Errorf("it stays %s: %s", s.Status, cause), "ask the cloud's operator for room, or see its events: openstack server event list "+seed.ServerID)
		case idle && done(s.Status):
			return s.Status, nil
		case idle && asked.IsZero():
			if err := ask(ctx); err != nil {
				return s.Status, t.Cloud.Fault("server "+seed.Name, err)
			}
			asked = time.Now()
		}
		step.Wait("server is " + s.Status)
		select {
		case <-ctx.Done():
			return s.Status, context.Cause(ctx)
		case <-time.After(lookEvery):
		}
	}
}

// answers waits until the seed lets in and its Kubernetes answers.
func (s *Seed) answers(ctx context.Context, step *event.Step) error {
	machine, err := remote.Await(ctx, remote.Target{Address: net.JoinHostPort(s.Address, "22"), User: s.user, HostKey: s.hostKey, Key: s.privateKey},
		remote.Patience{Refused: sshRefused, Silent: sshSilence}, func(last error) { step.Wait("waiting for SSH: " + last.Error()) })
	if err != nil {
		return fault.New("seed "+s.Name, err, "slipway console shows what it printed")
	}
	defer machine.Close()
	if s.Kubeconfig == "" {
		return nil
	}
	on, err := kubernetes.Reach(machine, s.Kubeconfig)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, fmt.Errorf("its Kubernetes does not answer after %s", answerTime))
	defer cancel()
	for {
		asking, stop := context.WithTimeout(ctx, answerWithin)
		_, err := on.Typed.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(asking)
		stop()
		if err == nil {
			return nil
		}
		step.Wait("waiting for Kubernetes: " + err.Error())
		select {
		case <-ctx.Done():
			return fault.New("seed "+s.Name, errors.Join(context.Cause(ctx), err), "slipway logs k3s shows why")
		case <-time.After(lookEvery):
		}
	}
}
