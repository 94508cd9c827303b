package recover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// makeRoom leaves nothing of the former management cluster that would be in the way of the
// new one: it refuses servers, and deletes the ports of those that are gone. A run that goes
// on finds the new one's machines instead, and touches none.
func (r *rebuild) makeRoom(ctx context.Context) error {
	things, err := r.t.Inventory.List(ctx, r.t.Name())
	if err != nil {
		return err
	}
	if r.t.Environment.Spec.Seed.IsLocal() || seenIn(r.t.Name(), nil, things).Seed != nil {
		if begun, err := r.begun(ctx); err != nil || begun {
			return err
		}
	}
	if err := remains(things); err != nil {
		return err
	}
	// Cluster API's provider makes the ports itself, so Nova leaves them when a server goes.
	// They would keep the security groups in use for ever.
	ports, err := r.t.Inventory.LoosePorts(ctx, r.t.Name(), stacks.StepManagementCluster)
	if err != nil {
		return fmt.Errorf("looking for ports of lost machines: %w", err)
	}
	if len(ports) == 0 {
		return nil
	}
	r.progress.Emit(event.Event{Time: time.Now(), State: event.Note, Message: fmt.Sprintf("%d ports of lost machines are deleted", len(ports))})
	return r.t.Inventory.Sweep(ctx, ports, r.progress)
}

// begun reports whether a former run has begun with the new management cluster: the seed of
// the state has a Cluster that is younger than the backup.
func (r *rebuild) begun(ctx context.Context) (bool, error) {
	seed, err := r.t.Seed(ctx)
	if err == nil && seed.Local != "" {
		return r.begunLocally(ctx, seed.Local)
	}
	if err != nil || seed.Kubeconfig == "" {
		return false, nil //nolint:nilerr // there is no seed, so no run has come so far
	}
	on, leave, err := onSeed(ctx, seed)
	if err != nil {
		return false, fmt.Errorf("asking the seed %s whether a former run has begun with the management cluster: %w", seed.Name, err)
	}
	defer leave()
	reports, err := clusterapi.Read(ctx, on.Dynamic, stacks.ManagementNamespace)
	if err != nil {
		return false, fmt.Errorf("reading clusters on the seed %s: %w", seed.Name, err)
	}
	return young(reports, r.t.Name(), r.snapshot.Taken), nil
}

// young reports whether there is a Cluster of the name that was created after a time.
func young(reports []clusterapi.Report, name string, than time.Time) bool {
	return slices.ContainsFunc(reports, func(one clusterapi.Report) bool { return one.Exists && one.Name == name && one.Created.After(than) })
}

// remains refuses a rebuild beside servers of the former management cluster: they are
// behind the same load balancer, and may wake up.
func remains(things []openstack.Resource) error {
	var left []error
	for _, thing := range things {
		if thing.Step == stacks.StepManagementCluster && thing.Type == openstack.TypeServer {
			left = append(left, fault.Usage("server "+thing.Name, fmt.Errorf("it is of the former management cluster and still there (%s, %s)", thing.ID, thing.State),
				"if that cluster still works, use slipway status; if it is lost, delete the server with openstack server delete "+thing.ID+", then run the same command again"))
		}
	}
	return errors.Join(left...)
}
