package down

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/vain"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
)

// lookPause is the pause between two tries to list the clusters of a cluster.
const lookPause = 2 * time.Second

// look asks Cluster API on the cluster of each kubeconfig, all at once; an empty kubeconfig
// is no cluster. The answers come in the order of the names.
func look(ctx context.Context, machine kubernetes.Way, kubeconfigs map[string]string, progress event.Sink) ([]parent, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lookTime, fmt.Errorf("no answer in %s", lookTime))
	defer cancel()
	step := event.Start(progress, stacks.StepManagementCluster, "listing clusters")
	names := slices.Sorted(maps.Keys(kubeconfigs))
	found, errs := make([]parent, len(names)), make([]error, len(names))
	var group sync.WaitGroup
	for i, name := range names {
		group.Go(func() {
			found[i], errs[i] = patiently(ctx, func(ctx context.Context) (parent, error) { return read(ctx, machine, name, kubeconfigs[name]) },
				func(err error) { step.Wait(fmt.Sprintf("the %s: %v", name, err)) })
		})
	}
	group.Wait()
	err := errors.Join(errs...)
	step.End("", err)
	return slices.DeleteFunc(found, func(p parent) bool { return p.cluster == nil }), err
}

// read lists the clusters that one cluster manages.
func read(ctx context.Context, machine kubernetes.Way, name, kubeconfig string) (parent, error) {
	if kubeconfig == "" {
		return parent{}, nil
	}
	cluster, err := kubernetes.Reach(machine, kubeconfig)
	if err != nil {
		return parent{}, unread(name, vain.Final(err))
	}
	reports, err := clusterapi.Read(ctx, cluster.Dynamic, metav1.NamespaceAll)
	if err != nil {
		err = unread(name, err)
	}
	return parent{name, cluster, reports}, err
}

func unread(name string, err error) error {
	return fault.New(name, fmt.Errorf("listing its clusters: %w", err), "if it is gone for good, give --delete-clusters to skip clusters that do not answer")
}

// patiently asks until there is an answer, asking again does not help, or the context ends:
// a seed that was just woken may answer once, and then not for some seconds, while k3s and
// the webhooks on it start.
func patiently(ctx context.Context, ask func(context.Context) (parent, error), waiting func(error)) (parent, error) {
	for {
		p, err := ask(ctx)
		if err == nil || vain.Refused(err) || ctx.Err() != nil {
			return p, err
		}
		waiting(err)
		select {
		case <-ctx.Done():
			return p, err
		case <-time.After(lookPause):
		}
	}
}
