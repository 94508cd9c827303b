package move

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/cluster"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// library lets clusterctl's library copy the objects, and delete them after they have been
// compared. arrived are those objects; nil means that nothing was deleted.
func (m Move) library(ctx context.Context, to Place) (arrived inventory, err error) {
	from, target := m.sides(to)
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	pass := sync.OnceValue(func() error {
		found, err := m.compare(ctx, from, target)
		if err == nil {
			err = m.write(ctx, Record{To: to, Phase: deleting, Objects: found})
		}
		if err != nil {
			end(err) // the library would try each object ten times
			return err
		}
		m.Progress(fmt.Sprintf("%d objects arrived; deleting them on the %s", len(found), from.Name))
		arrived = found
		return nil
	})
	patience := cmp.Or(m.patience, usualPatience)
	source, err := newProxy(from.Config, func(c client.Client) client.Client {
		return gate{patient{c, newFailing(patience, end)}, pass}
	})
	if err != nil {
		return nil, err
	}
	sink, err := newProxy(target.Config, func(c client.Client) client.Client {
		return patient{c, newFailing(patience, end)}
	})
	if err != nil {
		return nil, err
	}
	origin, destination := clientOf(source), clientOf(sink)
	for _, side := range []cluster.Client{origin, destination} {
		if err := side.ProviderInventory().EnsureCustomResourceDefinitions(ctx); err != nil {
			return nil, fmt.Errorf("preparing clusterctl's inventory: %w", err)
		}
	}
	if err := origin.ObjectMover().Move(ctx, m.Cluster.Namespace, destination, false); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return arrived, fmt.Errorf("moving with clusterctl: %w", err)
	}
	return arrived, pass() // with nothing to delete nobody passed the gate
}

func clientOf(p proxy) cluster.Client {
	return cluster.New(cluster.Kubeconfig{}, nil, cluster.InjectProxy(p))
}
