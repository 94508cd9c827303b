package down

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
	"github.com/slipway-sh/slipway/stacks/workload"
)

// deleteWorkloads deletes the clusters of `slipway cluster create` in parallel, as
// `slipway cluster delete` does: with their releases, which have server groups in
// the cloud, and their credentials.
func deleteWorkloads(ctx context.Context, t *target.Target, seed *target.Seed, machine kubernetes.Way, progress event.Sink) error {
	config, err := kubernetes.Through(machine, seed.Management)
	if err != nil {
		return err
	}
	m, err := workload.New(t.Name(), config)
	if err != nil {
		return err
	}
	cloud, err := t.WorkloadCloud(seed)
	if err != nil {
		return err
	}
	list, err := m.List(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, goTime, fmt.Errorf("it still exists after %s", goTime))
	defer cancel()
	var group sync.WaitGroup
	errs := make([]error, len(list))
	for i, c := range list {
		if c.MadeBy != workload.Ours {
			continue
		}
		group.Go(func() {
			key := workload.Key{Namespace: c.Namespace, Name: c.Name}
			step := event.Start(progress, key.String(), "deleting cluster")
			policy := t.Environment.Spec.VolumesPolicy
			_, err := m.Delete(ctx, cloud, key, workload.Retention{Volumes: policy, ObjectStores: policy}, step.Wait)
			step.End("deleted", err)
			errs[i] = err
		})
	}
	group.Wait()
	return errors.Join(errs...)
}
