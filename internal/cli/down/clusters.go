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
	"github.com/slipway-sh/slipway/internal/remote"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
)

// lookTime is how long a cluster may take to say what clusters it looks after,
// and goTime how long they may take to go.
const (
	lookTime = 30 * time.Second
	goTime   = 30 * time.Minute
)

// The parents that clusters are deleted on.
const (
	onSeed       = "seed"
	onManagement = "management cluster"
)

// parent is a cluster on which Cluster API runs, with what it looks after.
type parent struct {
	name     string
	cluster  *kube.Cluster
	clusters []clusterapi.Report
}

// clusters has the clusters deleted by Cluster API while there still is one:
// nobody else could delete them in order. Those of others only if that was
// asked for; the environment's own also if a killed run never came to write it
// into the state. A seed that does not answer is gone, and the sweep takes what
// is there.
func (o options) clusters(ctx context.Context, t *target.Target, progress event.Sink) error {
	seed, err := t.Seed(ctx)
	if err != nil || seed.Kubeconfig == "" {
		return nil
	}
	machine, err := seed.Login(ctx)
	if err != nil {
		return nil
	}
	defer machine.Close()
	parents, err := look(ctx, machine, map[string]string{onSeed: seed.Kubeconfig, onManagement: seed.Management})
	if err != nil && !o.deleteClusters {
		return err
	}
	own, tenants := divide(parents, stacks.ManagementNamespace, t.Name())
	if names := namesOf(tenants); len(names) > 0 && !o.deleteClusters {
		return fault.New("environment "+t.Name(), fmt.Errorf("clusters of others depend on it: %s", strings.Join(names, ", ")),
			"delete them first, or give --delete-clusters to have them deleted with all that is in them")
	}
	// Those of tenants first: the management cluster deletes them.
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
	return deleteAll(ctx, home(ctx, t, seed, machine, own, progress), policy, progress)
}

// home brings the environment's own cluster back to the seed if it looks after
// itself, and returns who can delete it. If it cannot be brought back nobody
// can: its step tells why, and the sweep takes what is there.
func home(ctx context.Context, t *target.Target, seed *target.Seed, machine *remote.Machine, own []parent, progress event.Sink) []parent {
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

// look asks Cluster API on each cluster of the kubeconfigs; empty ones are not
// there.
func look(ctx context.Context, machine *remote.Machine, kubeconfigs map[string]string) ([]parent, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lookTime, fmt.Errorf("no answer in %s", lookTime))
	defer cancel()
	var parents []parent
	var errs []error
	for name, kubeconfig := range kubeconfigs {
		if kubeconfig == "" {
			continue
		}
		cluster, err := kubernetes.Reach(machine, kubeconfig)
		if err == nil {
			var found []clusterapi.Report
			found, err = clusterapi.Read(ctx, cluster.Dynamic, metav1.NamespaceAll)
			parents = append(parents, parent{name, cluster, found})
		}
		if err != nil {
			errs = append(errs, fault.New(name, fmt.Errorf("asking for its clusters: %w", err), "if it is gone for good, give --delete-clusters: what does not answer is left out"))
		}
	}
	return parents, errors.Join(errs...)
}

// divide separates the environment's own cluster from those of others.
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

// releaseMagnum deletes the clusters of the Magnum API as its users do: its
// controllers would make anew what is deleted behind their backs.
func releaseMagnum(ctx context.Context, parents []parent) error {
	ctx, cancel := context.WithTimeoutCause(ctx, lookTime, fmt.Errorf("no answer in %s", lookTime))
	defer cancel()
	for _, p := range parents {
		for _, c := range p.clusters {
			err := p.cluster.Dynamic.Resource(v1alpha1.GroupVersion().WithResource("clusters")).Namespace(c.Namespace).Delete(ctx, c.Name, metav1.DeleteOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				return fault.New("cluster "+c.Namespace+"/"+c.Name, fmt.Errorf("deleting it by the Magnum API: %w", err), "")
			}
		}
	}
	return nil
}

// forget takes away the kubeconfigs of clusters that are gone.
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

// deleteAll deletes clusters at the same time and waits until they are gone.
func deleteAll(ctx context.Context, parents []parent, annotations map[string]string, progress event.Sink) error {
	ctx, cancel := context.WithTimeoutCause(ctx, goTime, fmt.Errorf("it is still there after %s", goTime))
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
