// Package kubeconfig is `slipway kubeconfig`.
package kubeconfig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// New returns the command.
func New(streams ui.Streams) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the kubeconfig of the management cluster or of the seed, or write it to a file",
		Long: `Prints the administrator's kubeconfig of the management cluster, or of the seed if there
is no management cluster. It is a secret: with --output it goes to a file with mode 0600,
which is written whole or not at all.

With spec.managementCluster.kubeconfig.token the kubeconfig holds a token. It is renewed
when less than a third of its lifetime is left.

With --tunnel it is a kubeconfig for an API that only the seed reaches: its server is a
port of this machine, which leads through SSH to the seed and on to the API. The port and
the file last until you stop the command with Ctrl-C.`,
		Example: `  slipway kubeconfig --output management.kubeconfig
  KUBECONFIG=management.kubeconfig kubectl get nodes
  slipway kubeconfig --cluster seed --output seed.kubeconfig
  slipway kubeconfig --tunnel`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams) },
	}
	o.from.Add(cmd.Flags())
	cmd.Flags().BoolVar(&o.admin, "admin", false, "print the administrator's kubeconfig, even if the environment file asks for one with a token")
	cmd.Flags().BoolVar(&o.rotate, "rotate", false, "create a new token and revoke the old one")
	cmd.Flags().StringVar(&o.output, "output", "", "file to write to instead of standard output")
	cmd.Flags().BoolVar(&o.tunnel, "tunnel", false, "lead to the API through the seed until Ctrl-C (default file: tunnel.kubeconfig in .slipway)")
	cmd.Flags().StringVar(&o.cluster, "cluster", "", "seed or management (default: management, or seed if there is no management cluster)")
	return cmd
}

// The clusters of --cluster.
const (
	onSeed     = "seed"
	management = "management"
)

type options struct {
	from            environment.Flags
	output, cluster string
	admin, rotate   bool
	tunnel          bool
}

func (o options) run(ctx context.Context, streams ui.Streams) error {
	if !slices.Contains([]string{"", onSeed, management}, o.cluster) {
		return fault.Usage("--cluster "+o.cluster, errors.New("there is no such cluster"), "use seed or management")
	}
	text, err := o.text(ctx)
	if err != nil {
		return err
	}
	if o.tunnel {
		return o.through(ctx, streams, text)
	}
	if o.output == "" {
		_, err := fmt.Fprint(streams.Out, text)
		return err
	}
	if err := target.WriteSecret(o.output, text); err != nil {
		return fault.New(o.output, err, "choose another file")
	}
	return nil
}

// text returns the kubeconfig that the flags ask for.
func (o options) text(ctx context.Context) (string, error) {
	seed, loaded, err := target.OpenSeed(ctx, o.from)
	if err != nil {
		return "", err
	}
	if seed.Local != "" && o.cluster == onSeed {
		return "", target.ErrNoSeed()
	}
	if seed.Kubeconfig == "" && seed.Management == "" {
		return "", fault.New("seed "+seed.Name, errors.New("its Kubernetes was not ready yet"), "run slipway up, which continues")
	}
	if seed.Management == "" && o.cluster == management {
		return "", fault.New("management cluster", errors.New("it is not ready yet, or the environment has none"), "see its progress with slipway status")
	}
	if seed.Management == "" || o.cluster == onSeed {
		return seed.Kubeconfig, o.refuse("this cluster has no token")
	}
	if o.admin {
		return seed.Management, o.refuse("the administrator's kubeconfig has a client certificate")
	}
	path, err := target.WriteTokenKubeconfig(ctx, seed, loaded, o.rotate)
	if err != nil {
		return "", err
	}
	if path == "" {
		return seed.Management, o.refuse("spec.managementCluster.kubeconfig.token asks for no token")
	}
	text, err := os.ReadFile(path)
	return string(text), err
}

// refuse refuses to rotate a kubeconfig without a token.
func (o options) refuse(why string) error {
	if !o.rotate {
		return nil
	}
	return fault.Usage("--rotate", errors.New(why), "leave --rotate out")
}
