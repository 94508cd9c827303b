package target

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ownership"
	"github.com/slipway-sh/slipway/internal/preflight"
	"github.com/slipway-sh/slipway/internal/remote"
	"github.com/slipway-sh/slipway/internal/vain"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// wakeRemedy is the remedy for a shelved seed.
const wakeRemedy = "run slipway seed wake, then the same command again"

// Nova's states of a shelved server: still on its host, and off it.
const (
	shelved   = "SHELVED"
	offloaded = "SHELVED_OFFLOADED"
)

// IsShelved reports whether a Nova server status means that the server is shelved.
func IsShelved(state string) bool { return state == shelved || state == offloaded }

// ShelvedSeed reports whether the seed is among the resources, and shelved.
func ShelvedSeed(things []openstack.Resource) bool {
	return slices.ContainsFunc(things, func(t openstack.Resource) bool {
		return t.Type == openstack.TypeServer && t.Step == stacks.StepSeed && IsShelved(t.State)
	})
}

// Shelved reports whether the seed is shelved; false if there is no seed.
func (t *Target) Shelved(ctx context.Context) (bool, error) {
	things, err := t.Inventory.List(ctx, t.Name())
	return ShelvedSeed(things), err
}

// Asleep is Shelved by what preflight saw. It asks the cloud again only if the servers could
// not be listed then.
func (t *Target) Asleep(ctx context.Context, checked preflight.Result) (bool, error) {
	seen := checked.Snapshot
	if seen == nil || !seen.Known(cloud.Compute, cloud.ListServers) {
		return t.Shelved(ctx)
	}
	return slices.ContainsFunc(seen.Servers, func(s cloud.ServerInfo) bool {
		return s.Owner != nil && *s.Owner == ownership.New(t.Name(), stacks.StepSeed) && IsShelved(s.Status)
	}), nil
}

// ErrShelved is the error of commands that need the seed while it is shelved.
func (t *Target) ErrShelved() error {
	return fault.New("seed "+t.Environment.ResourceName(stacks.StepSeed), errors.New("it is shelved, and every change goes through it"), wakeRemedy)
}

// How long Nova may take to shelve or wake a server, after how long without a
// change Nova counts as having refused, and how long Kubernetes may take to answer.
const (
	shelfTime    = 10 * time.Minute
	shelfIdle    = 20 * time.Second
	answerTime   = 5 * time.Minute
	sshSilence   = 5 * time.Minute
	sshRefused   = 30 * time.Second
	lookEvery    = 2 * time.Second
	answerWithin = 10 * time.Second
	// answersInRow is how many answers one after the other count: a k3s whose kubelet ends
	// answers for a moment before it ends too, and systemd starts it again.
	answersInRow = 3
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

// bring requests a change of the server's state, once, and waits until it is done.
// If Nova cannot make the change it reports nothing, so an idle server counts as
// refused.
func (t *Target) bring(ctx context.Context, seed *Seed, step *event.Step, done func(state string) bool, ask func(context.Context) error) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, shelfTime, fmt.Errorf("it was not done after %s", shelfTime))
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
				cause = "the cloud gives no cause"
			}
			return s.Status, fault.New("server "+seed.Name, fmt.Errorf("it stays %s: %s", s.Status, cause), "see its events with openstack server event list "+seed.ServerID+", or ask the cloud's operator for capacity")
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

// answers waits until SSH and Kubernetes on the seed answer.
func (s *Seed) answers(ctx context.Context, step *event.Step) error {
	machine, err := remote.Await(ctx, remote.Target{Address: net.JoinHostPort(s.Address, "22"), User: s.user, HostKey: s.hostKey, Key: s.privateKey},
		remote.Patience{Refused: sshRefused, Silent: sshSilence}, func(last error) { step.Wait("waiting for SSH: " + last.Error()) })
	if err != nil {
		return fault.New("seed "+s.Name, err, "see its console log with slipway logs --console")
	}
	defer machine.Close()
	if s.Kubeconfig == "" {
		return nil
	}
	on, err := kubernetes.Reach(machine, s.Kubeconfig)
	if err != nil {
		return err
	}
	return s.ready(ctx, step, func(ctx context.Context) error {
		_, err := on.Typed.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err
	})
}

// ready waits until Kubernetes on the seed answers.
func (s *Seed) ready(ctx context.Context, step *event.Step, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, fmt.Errorf("its Kubernetes does not answer after %s", answerTime))
	defer cancel()
	var hopeless vain.Watch
	for answers := 0; ; {
		asking, stop := context.WithTimeout(ctx, answerWithin)
		err := ask(asking)
		stop()
		answers++
		if err != nil {
			answers = 0
			step.Wait("waiting for Kubernetes: " + err.Error())
		}
		if answers == answersInRow {
			return nil
		}
		if hopeless.Ends(err) {
			return fault.New("seed "+s.Name, err, "run slipway up, which renews what the seed and the state know of each other")
		}
		select {
		case <-ctx.Done():
			return fault.New("seed "+s.Name, errors.Join(context.Cause(ctx), err), "see why with slipway logs k3s")
		case <-time.After(lookEvery):
		}
	}
}
