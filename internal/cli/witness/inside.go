package witness

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cause/inside"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
)

const (
	// askAll bounds the questions to all clusters of one place together, askAtOnce how many
	// are asked at the same time: one that does not answer costs a few seconds.
	askAll    = 20 * time.Second
	askAtOnce = 64
)

// Way returns the client configuration for a workload cluster, and from where it is asked.
type Way func(ctx context.Context, namespace, name string) (config *rest.Config, from string, err error)

// way reaches workload clusters as the seed does, or directly if the seed is not there.
func (w *Witness) way(on *kube.Cluster) Way {
	return func(ctx context.Context, namespace, name string) (*rest.Config, string, error) {
		text, err := clusterapi.Kubeconfig(ctx, on.Typed, namespace, name)
		if err != nil {
			return nil, "", err
		}
		if machine, err := w.Machine(); err == nil {
			config, err := kubernetes.Through(machine, text)
			return config, "the seed", err
		}
		config, err := clientcmd.RESTConfigFromKubeConfig([]byte(text))
		if err != nil {
			return nil, "", fmt.Errorf("reading the kubeconfig: %w", err)
		}
		return config, "this machine", nil
	}
}

// said is what clusters say of themselves, and why others could not be asked.
type said struct {
	inside map[types.NamespacedName]*cause.Inside
	unseen map[types.NamespacedName]string
}

// ask asks the clusters that wanted chooses, in parallel. Those whose control plane was
// never up have no API server that could be asked.
func (p Place) ask(ctx context.Context, all clusterapi.Clusters, wanted func(clusterapi.Report) bool, reports []clusterapi.Report) said {
	s := said{map[types.NamespacedName]*cause.Inside{}, map[types.NamespacedName]string{}}
	if p.Way == nil {
		return s
	}
	ctx, cancel := context.WithTimeoutCause(ctx, askAll, fmt.Errorf("the clusters together took more than %s", askAll))
	defer cancel()
	var (
		mu    sync.Mutex
		group sync.WaitGroup
		room  = make(chan struct{}, askAtOnce)
	)
	for _, r := range reports {
		if !wanted(r) || !cause.Answers(all.Scene(r.Namespace, r.Name)) {
			continue
		}
		key := types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
		group.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			config, from, err := p.Way(ctx, r.Namespace, r.Name)
			if over := context.Cause(ctx); over != nil {
				err = over
			}
			var answer *cause.Inside
			if err == nil {
				answer = inside.Ask(ctx, config, from)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				s.unseen[key] = err.Error()
			} else {
				s.inside[key] = answer
			}
		})
	}
	group.Wait()
	return s
}
