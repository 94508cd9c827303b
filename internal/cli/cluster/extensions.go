package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/extension"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/workload"
)

// readExtensions finds the extensions before anything is created.
func (o createOptions) readExtensions() ([]extension.Extension, error) {
	if o.extensions == "" {
		return nil, nil
	}
	if o.wait == string(workload.WaitNone) {
		return nil, fault.Usage("--extensions", errors.New("they run on a cluster that is up, but nothing is waited for"), "give --wait control-plane or --wait ready")
	}
	return extension.Read(o.extensions)
}

// runExtensions runs them on the cluster, and returns their names.
func (o createOptions) runExtensions(ctx context.Context, streams ui.Streams, s *session, key workload.Key, kubeconfig string, all []extension.Extension) (names []string, err error) {
	if len(all) == 0 {
		return nil, nil
	}
	if kubeconfig, err = filepath.Abs(kubeconfig); err != nil {
		return nil, fmt.Errorf("finding the kubeconfig: %w", err)
	}
	runner := extension.Runner{Output: streams.Err, Apply: applyOn(s, key),
		Environment: append(os.Environ(), "KUBECONFIG="+kubeconfig, "CLUSTER_NAME="+key.Name, "CLUSTER_NAMESPACE="+key.Namespace)}
	err = ui.Step(o.progress, streams, o.name, "running extensions", func(step *event.Step) (string, error) {
		return fmt.Sprintf("%d done", len(all)), runner.Run(ctx, all, step.Wait)
	})
	for _, one := range all {
		names = append(names, one.Name)
	}
	return names, err
}

// applyOn applies manifests on a cluster, which is reached as from the management cluster.
func applyOn(s *session, key workload.Key) func(context.Context, []byte) error {
	return func(ctx context.Context, manifest []byte) error {
		config, _, err := s.Way(ctx, key.Namespace, key.Name)
		if err != nil {
			return err
		}
		cluster, err := kube.New(config)
		if err != nil {
			return err
		}
		return cluster.Apply(ctx, manifest)
	}
}
