// Package within asks clusters themselves about their causes, for commands of operators: all
// of them that have an API server, at the same time and within a bound. It is no part of what
// serves tenants.
package within

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cause/inside"
	"github.com/slipway-sh/slipway/internal/clusterapi"
)

const (
	// askAll bounds the questions to all clusters of one place together, askAtOnce how many
	// are asked at the same time: one that does not answer costs a few seconds.
	askAll    = 20 * time.Second
	askAtOnce = 64
)

// Way returns the client configuration for a cluster, and from where it is asked.
type Way func(ctx context.Context, namespace, name string) (config *rest.Config, from string, err error)

// Said is what clusters say of themselves, and why others could not be asked.
type Said struct {
	inside map[types.NamespacedName]*cause.Inside
	unseen map[types.NamespacedName]string
}

// Of is what a cluster said, nil if it was not asked; unseen says why it could not be.
func (s Said) Of(namespace, name string) (said *cause.Inside, unseen []cause.Unseen) {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	if why := s.unseen[key]; why != "" {
		unseen = []cause.Unseen{{What: cause.WithinCluster, Why: why}}
	}
	return s.inside[key], unseen
}

// Ask asks the clusters that wanted chooses, in parallel, those that are not ready first.
// Those whose control plane was never up have no API server that could be asked. A nil way
// asks nobody.
func Ask(ctx context.Context, way Way, all clusterapi.Clusters, wanted func(clusterapi.Report) bool) Said {
	s := Said{map[types.NamespacedName]*cause.Inside{}, map[types.NamespacedName]string{}}
	if way == nil {
		return s
	}
	ctx, cancel := context.WithTimeoutCause(ctx, askAll, fmt.Errorf("the clusters together took more than %s", askAll))
	defer cancel()
	var (
		mu    sync.Mutex
		group errgroup.Group
	)
	group.SetLimit(askAtOnce)
	for _, r := range all.Chosen(wanted) {
		if !cause.Answers(all.Scene(r.Namespace, r.Name)) {
			continue
		}
		key := types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
		group.Go(func() error {
			answer, err := one(ctx, way, key)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				s.unseen[key] = err.Error()
			} else {
				s.inside[key] = answer
			}
			return nil
		})
	}
	_ = group.Wait() // why a cluster could not be asked is in its answer
	return s
}

func one(ctx context.Context, way Way, key types.NamespacedName) (*cause.Inside, error) {
	config, from, err := way(ctx, key.Namespace, key.Name)
	if over := context.Cause(ctx); over != nil {
		err = over
	}
	if err != nil {
		return nil, err
	}
	return inside.Ask(ctx, config, from), nil
}
