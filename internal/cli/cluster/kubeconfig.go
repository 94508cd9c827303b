package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/workload"
)

type kubeconfigOptions struct {
	from environment.Flags
	place
	out string
}

func newKubeconfig(streams ui.Streams) *cobra.Command {
	o := kubeconfigOptions{}
	cmd := &cobra.Command{
		Use:   "kubeconfig NAME",
		Short: "Print the kubeconfig of a workload cluster, or write it to a file",
		Long: `Prints the administrator's kubeconfig of a cluster, as Cluster API last renewed it. It
is a secret: with --out it goes to a file with mode 0600, which is written whole or not
at all. NAME is the name of the cluster or, for a cluster of the Magnum API, its name or
UUID there.`,
		Example: `  slipway cluster kubeconfig shop --out shop.kubeconfig
  KUBECONFIG=shop.kubeconfig kubectl get nodes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), streams, args[0]) },
	}
	o.from.Add(cmd.Flags())
	o.add(cmd.Flags())
	cmd.Flags().StringVar(&o.out, "out", "", "file to write to instead of standard output")
	return cmd
}

func (o kubeconfigOptions) run(ctx context.Context, streams ui.Streams, name string) error {
	s, key, err := o.find(ctx, look, o.from, name)
	if err != nil {
		return err
	}
	defer s.close()
	text, err := kubeconfig(ctx, s, key)
	if err != nil {
		return err
	}
	if o.out == "" {
		_, err := fmt.Fprintln(streams.Out, text)
		return err
	}
	return target.WriteClusterKubeconfig(o.out, text)
}

func kubeconfig(ctx context.Context, s *session, key workload.Key) (string, error) {
	text, err := clusterapi.Kubeconfig(ctx, s.Kube.Typed, key.Namespace, key.Name)
	if !apierrors.IsNotFound(err) {
		return text, err
	}
	exists, err := clusterapi.Exists(ctx, s.Kube.Dynamic, key.Namespace, key.Name)
	if err != nil {
		return "", err
	}
	if !exists {
		return "", workload.Absent(key)
	}
	return "", fault.New("cluster "+key.String(), errors.New("it has no kubeconfig yet"), "slipway cluster describe "+key.Name+" shows how far it is")
}
