package target

import (
	"context"
	"errors"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// NoSeed says why an environment with a local seed has no seed to show.
const NoSeed = "no seed: the management cluster manages itself"

// ErrNoSeed is the error of commands that are about a seed server.
func ErrNoSeed() error {
	return fault.New("seed", errors.New(NoSeed), "use the management cluster's nodes instead: slipway kubeconfig, slipway status; a local seed that is at work is a container: see docker ps or podman ps")
}

// sameProvider refuses another provider than the one that the environment was made with, and
// a local seed for an environment whose state is lost: a second management cluster would be
// made beside the first.
func (t *Target) sameProvider(ctx context.Context) error {
	resources, err := t.Engine.Resources(ctx)
	if err != nil {
		return err
	}
	was := ""
	for _, r := range resources {
		switch r.Name {
		case stacks.StepLocalSeed:
			was = config.ProviderKind
		case stacks.StepSeed:
			was = config.ProviderOpenStack
		}
	}
	now := t.Environment.Spec.Seed.Provider
	if was != "" && was != now {
		return fault.Usage("spec.seed.provider", errors.New("the environment was made with "+was+", and this cannot be changed to "+now), "write "+was+", or make a new environment")
	}
	if was == "" && now == config.ProviderKind {
		return t.notLost(ctx)
	}
	return nil
}

// notLost refuses servers of a management cluster that nobody knows: neither the state, nor a
// local seed of this machine. Those of workload clusters run on without one.
func (t *Target) notLost(ctx context.Context) error {
	things, err := t.Inventory.List(ctx, t.Name())
	if err != nil {
		return err
	}
	for _, thing := range things {
		if thing.Type == openstack.TypeServer && thing.Step == stacks.StepManagementCluster {
			return fault.New("environment "+t.Name(), errors.New("there are servers of its management cluster in the cloud, but its state is lost, and no seed knows them"),
				"restore the state, of which the folder .slipway or the remote state is the place; if the management cluster is lost, and there is a backup, see slipway recover; else run slipway down --delete-clusters, then slipway up")
		}
	}
	return nil
}

// BringSeed returns the way to the environment's clusters and the seed's kubeconfig, for a
// command that deletes the management cluster. A local seed is brought back if the management
// cluster manages itself; the kubeconfig is empty if there is none and none is needed.
func (t *Target) BringSeed(ctx context.Context, s *Seed, tell func(string)) (kubeconfig string, err error) {
	return t.Seeds.ForMoveBack(ctx, kubernetes.Direct{}, kubernetes.ManagementMoveInputs{Login: kubernetes.Login{Local: s.Local},
		ManagementKubeconfig: s.Management, Name: t.Name(), Namespace: stacks.ManagementNamespace}, tell)
}
