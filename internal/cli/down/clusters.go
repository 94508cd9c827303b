package down

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/addons/janitor"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// lookTime bounds listing the clusters that a cluster manages, with a k3s that starts;
// goTime bounds deleting them.
const (
	lookTime = time.Minute
	goTime   = 30 * time.Minute
)

// The clusters that manage the clusters to delete.
const (
	onSeed       = "seed"
	onManagement = "management cluster"
)

// parent is a cluster that runs Cluster API, with the clusters that it manages.
type parent struct {
	name     string
	cluster  *kube.Cluster
	clusters []clusterapi.Report
}

// clusters lets Cluster API delete the clusters while it still runs: nothing
// else could delete them in order. Workload clusters are deleted only if the
// operator asked for that; the management cluster also if a killed run did not
// record it in the state. If nobody can be asked, the run ends unless the operator
// asked for the deletion of clusters; the sweep then deletes what is left.
func (o options) clusters(ctx context.Context, t *target.Target, things []openstack.Resource, progress event.Sink) error {
	seed, machine, err := o.open(ctx, t, things)
	if err != nil {
		return err
	}
	if seed == nil { // the way to the management cluster leads through it
		return forgetResidents(ctx, t.Engine)
	}
	defer machine.Close()
	parents, err := look(ctx, machine, map[string]string{onSeed: seed.Kubeconfig, onManagement: seed.Management}, progress)
	if err != nil && !o.deleteClusters {
		return err
	}
	own, tenants := divide(parents, stacks.ManagementNamespace, t.Name())
	if names := namesOf(tenants); len(names) > 0 && !o.deleteClusters {
		return fault.New("environment "+t.Name(), fmt.Errorf("workload clusters depend on it: %s", strings.Join(names, ", ")),
			"delete them first, or give --delete-clusters to delete them with everything in them")
	}
	// Workload clusters first: the management cluster deletes them.
	if err := releaseMagnum(ctx, tenants); err != nil {
		return err
	}
	if i := slices.IndexFunc(tenants, func(p parent) bool { return p.name == onManagement && len(p.clusters) > 0 }); i >= 0 {
		if err := deleteWorkloads(ctx, t, seed, machine, progress); err != nil {
			return err
		}
	}
	policy := map[string]string{janitor.VolumesPolicyAnnotation: t.Environment.Spec.VolumesPolicy}
	if err := deleteAll(ctx, tenants, policy, progress); err != nil {
		return err
	}
	if err := forget(t, tenants); err != nil {
		return err
	}
	if seed.Local != "" {
		if own, err = bring(ctx, t, seed, machine, progress); err != nil {
			return err
		}
	}
	own = home(ctx, t, seed, machine, own, progress)
	if err := deleteAll(ctx, own, policy, progress); err != nil {
		return err
	}
	if slices.ContainsFunc(own, func(p parent) bool { return p.name == onSeed }) {
		return forgetResidents(ctx, t.Engine)
	}
	return nil
}

// bring brings a local seed back if the management cluster manages itself, and returns what
// can delete it: the seed, with the clusters that are on it.
func bring(ctx context.Context, t *target.Target, seed *target.Seed, machine kubernetes.Way, progress event.Sink) ([]parent, error) {
	step := event.Start(progress, stacks.StepLocalSeed, "looking for the local seed")
	kubeconfig, err := t.BringSeed(ctx, seed, step.Wait)
	if err == nil && kubeconfig == "" {
		step.End("not needed", nil)
		return nil, nil
	}
	step.End("ready", err)
	if err != nil {
		return nil, err
	}
	seed.Kubeconfig = kubeconfig
	parents, err := look(ctx, machine, map[string]string{onSeed: kubeconfig}, progress)
	own, _ := divide(parents, stacks.ManagementNamespace, t.Name())
	return own, err
}

// home pivots a self-managed management cluster back to the seed, and returns the
// parent that can delete it. If the pivot fails nothing can: its step says why,
// and the sweep deletes what is left.
func home(ctx context.Context, t *target.Target, seed *target.Seed, machine kubernetes.Way, own []parent, progress event.Sink) []parent {
	on := slices.IndexFunc(own, func(p parent) bool { return p.name == onSeed })
	if on < 0 || seed.Management == "" {
		return own
	}
	step := sync.OnceValue(func() *event.Step {
		return event.Start(progress, stacks.StepManagementMove, "moving the objects back to the seed")
	})
	moved, err := kubernetes.MoveBack(ctx, machine, kubernetes.ManagementMoveInputs{Kubeconfig: seed.Kubeconfig, ManagementKubeconfig: seed.Management,
		Name: t.Name(), Namespace: stacks.ManagementNamespace}, func(text string) { step().Wait(text) })
	if err != nil {
		step().End("", err)
		return nil
	}
	if !moved {
		return own
	}
	step().End("moved back", nil)
	reports, err := clusterapi.Read(ctx, own[on].cluster.Dynamic, stacks.ManagementNamespace)
	if err != nil {
		return nil
	}
	mine, _ := divide([]parent{{onSeed, own[on].cluster, reports}}, stacks.ManagementNamespace, t.Name())
	return mine
}

// divide separates the management cluster from the workload clusters.
func divide(parents []parent, namespace, name string) (own, tenants []parent) {
	for _, p := range parents {
		mine, others := p, p
		mine.clusters, others.clusters = nil, nil
		for _, c := range p.clusters {
			if c.Namespace == namespace && c.Name == name {
				mine.clusters = append(mine.clusters, c)
			} else {
				others.clusters = append(others.clusters, c)
			}
		}
		own, tenants = append(own, mine), append(tenants, others)
	}
	return own, tenants
}

// releaseMagnum deletes the clusters of the Magnum API as its users do:
// otherwise its controllers would recreate them.
func releaseMagnum(ctx context.Context, parents []parent) error {
	ctx, cancel := context.WithTimeoutCause(ctx, lookTime, fmt.Errorf("no answer in %s", lookTime))
	defer cancel()
	for _, p := range parents {
		for _, c := range p.clusters {
			err := p.cluster.Dynamic.Resource(v1alpha1.GroupVersion().WithResource("clusters")).Namespace(c.Namespace).Delete(ctx, c.Name, metav1.DeleteOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				return fault.New("cluster "+c.Namespace+"/"+c.Name, fmt.Errorf("deleting it through the Magnum API: %w", err), "")
			}
		}
	}
	return nil
}

// forget drops the kubeconfigs of clusters that are gone.
func forget(t *target.Target, parents []parent) error {
	for _, p := range parents {
		for _, c := range p.clusters {
			if err := target.RemoveClusterKubeconfig(t.Loaded, types.NamespacedName{Namespace: c.Namespace, Name: c.Name}); err != nil {
				return err
			}
		}
	}
	return nil
}

func namesOf(parents []parent) []string {
	var names []string
	for _, p := range parents {
		for _, c := range p.clusters {
			names = append(names, fmt.Sprintf("%s/%s (on the %s)", c.Namespace, c.Name, p.name))
		}
	}
	return names
}

// deleteAll deletes clusters in parallel and waits until they are gone.
func deleteAll(ctx context.Context, parents []parent, annotations map[string]string, progress event.Sink) error {
	ctx, cancel := context.WithTimeoutCause(ctx, goTime, fmt.Errorf("it still exists after %s", goTime))
	defer cancel()
	results, started := make(chan error), 0
	for _, p := range parents {
		for _, c := range p.clusters {
			started++
			go func() {
				step := event.Start(progress, c.Namespace+"/"+c.Name, "deleting cluster")
				err := clusterapi.Delete(ctx, p.cluster.Dynamic, c.Namespace, c.Name, annotations, func(r clusterapi.Report) { step.Wait(r.Progress()) })
				step.End("deleted", err)
				results <- err
			}()
		}
	}
	var errs []error
	for range started {
		errs = append(errs, <-results)
	}
	return errors.Join(errs...)
}
