package target

import (
	"context"

	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/clusterapi/within"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/remote"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
)

// Way reaches the clusters of a management cluster through the seed, or directly if machine
// is nil.
func Way(on *kube.Cluster, machine *remote.Machine) within.Way {
	return func(ctx context.Context, namespace, name string) (*rest.Config, string, error) {
		text, err := clusterapi.Kubeconfig(ctx, on.Typed, namespace, name)
		if err != nil {
			return nil, "", err
		}
		if machine != nil {
			config, err := kubernetes.Through(machine, text)
			return config, "the seed", err
		}
		config, err := kubernetes.Config(text)
		return config, "this machine", err
	}
}
