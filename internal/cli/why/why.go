// Package why is `slipway why`: the causes of what is not well, across Kubernetes and
// the cloud.
package why

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/witness"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/support"
	"github.com/slipway-sh/slipway/internal/ui"
)

type options struct {
	from      environment.Flags
	namespace string
	archive   string
	identity  string
	format    string
	wide      bool
}

// New returns the command.
func New(streams ui.Streams) *cobra.Command {
	o := options{format: "table"}
	cmd := &cobra.Command{
		Use:   "why [CLUSTER|MACHINE|RESOURCE]",
		Short: "Say why something is not well, and what to do",
		Long: `Finds the first causes of what is not well: of the environment and all its clusters, of
one cluster, or of one machine, server or other resource, by name or ID. A cluster of the
Magnum API also has its name and UUID there. It reads the objects of Cluster API on the
seed and on the management cluster, asks the cloud now, with each cluster's own credential,
and each cluster itself: its API server, nodes and pods.

For each cause it prints what and which object it is, since when, and who says so, the
chain that leads there, the words of the cloud, and the fix. What follows from a cause is
listed under it. Clusters that do not depend on each other and have one and the same cause
are counted and printed once. If there is no cause it says what it looked at, and what it
could not see.

With --from it gives the same answers from an archive of slipway support, which may be
from another time and place.

The reason IDs are stable; docs/reference/reasons.md lists them.`,
		Example: `  slipway why
  slipway why shop
  slipway why shop-default-worker-x7k2p
  slipway why shop --from slipway-support-prod.tar.zst
  slipway why --wide
  slipway why -o json | jq -r '.causes[] | "\(.reason) \(.clusters | length)"'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			asked := ""
			if len(args) > 0 {
				asked = args[0]
			}
			return o.run(cmd.Context(), streams, asked)
		},
	}
	o.from.Add(cmd.Flags())
	cmd.Flags().StringVarP(&o.namespace, "namespace", "n", "", "namespace of the cluster (default: all)")
	cmd.Flags().StringVar(&o.archive, "from", "", "answer from an archive of slipway support, offline; no environment file is read")
	cmd.Flags().StringVar(&o.identity, "identity", "", "file with the age identity that decrypts the archive")
	cmd.Flags().BoolVar(&o.wide, "wide", false, "name all clusters and objects of a cause, not only the first few")
	ui.FormatFlag(cmd.Flags(), &o.format)
	return cmd
}

// patience bounds the whole answer.
const patience = 60 * time.Second

func (o options) run(ctx context.Context, streams ui.Streams, asked string) error {
	all, err := o.look(ctx, asked)
	if err != nil {
		return err
	}
	r := all.Explain(asked, o.namespace)
	if asked != "" && len(r.Answers) == 0 && len(r.Unseen) == 0 {
		return fault.Usage(asked, errors.New("no cluster, machine or resource of the environment has this name or ID"),
			"list the clusters with slipway cluster list, and their machines with slipway cluster describe")
	}
	if o.format == "table" {
		text := r.Text()
		if o.wide {
			text = r.Wide()
		}
		_, err := streams.Out.Write([]byte(text))
		return err
	}
	return ui.Output(streams.Out, o.format, r, ui.Table{})
}

// look asks now, or reads what an archive has.
func (o options) look(ctx context.Context, asked string) (support.Snapshots, error) {
	if o.archive != "" {
		return support.Read(o.archive, o.identity)
	}
	if o.identity != "" {
		return support.Snapshots{}, fault.Usage("--identity", errors.New("it is for an archive"), "name the archive with --from")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no answer within %s", patience))
	defer cancel()
	w, err := witness.Open(ctx, o.from)
	if err != nil {
		return support.Snapshots{}, err
	}
	defer w.Close()
	return w.Snapshots(ctx, asked, o.namespace), nil
}
