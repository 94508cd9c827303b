package down

import (
	"context"
	"fmt"
	"slices"

	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// open returns the seed and the way to it; both are nil if nobody is to be asked for clusters:
// there are none, or the operator wants to go on without an answer.
func (o options) open(ctx context.Context, t *target.Target, things []openstack.Resource) (*target.Seed, kubernetes.Way, error) {
	seed, machine, err := reach(ctx, t)
	if err == nil {
		return seed, machine, nil
	}
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	state, unread := t.Engine.Resources(ctx)
	if unread != nil {
		state = nil
	}
	if o.deleteClusters || !mayManage(things, t.Environment.Spec.Seed.IsLocal(), state) {
		return nil, nil, nil
	}
	return nil, nil, fault.New("environment "+t.Name(), fmt.Errorf("nobody can say whether workload clusters depend on it: %w", err),
		"repair the connection to the seed, or restore the state, and run the same command again; or give --delete-clusters to continue: clusters that exist then stay in the cloud, and nothing manages them")
}

// reach returns the seed of the state and the way to it; both are nil if it never was ready.
func reach(ctx context.Context, t *target.Target) (*target.Seed, kubernetes.Way, error) {
	seed, err := t.Seed(ctx)
	switch {
	case err != nil:
		return nil, nil, err
	case seed.Local != "":
		return seed, kubernetes.Direct{}, nil
	case seed.Kubeconfig == "":
		return nil, nil, nil
	}
	machine, err := seed.Login(ctx)
	if err != nil {
		return nil, nil, err
	}
	return seed, machine, nil
}

// mayManage reports whether there may be workload clusters that nobody can list: the servers
// that would manage them are in the cloud, and the state, if there is one, does not say that
// they never came as far as Cluster API.
func mayManage(things []openstack.Resource, local bool, state []engine.Resource) bool {
	step := stacks.StepSeed
	if local { // the seed is no server
		step = stacks.StepManagementCluster
	}
	if !slices.ContainsFunc(things, func(r openstack.Resource) bool { return r.Type == openstack.TypeServer && r.Step == step }) {
		return false
	}
	return len(state) == 0 || slices.ContainsFunc(state, func(r engine.Resource) bool { return r.Name == stacks.StepClusterAPI })
}
