// Package why is `slipway why`: the causes of what is not well, across Kubernetes and
// the cloud.
package why

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

type options struct {
	from      environment.Flags
	namespace string
	format    string
}

// New returns the command.
func New(streams ui.Streams) *cobra.Command {
	o := options{format: "table"}
	cmd := &cobra.Command{
		Use:   "why [CLUSTER|MACHINE|RESOURCE]",
		Short: "Say why something is not well, and what to do",
		Long: `Finds the first causes of what is not well: of the environment and all its clusters, of
one cluster, or of one machine, server or other resource, by name or ID. It reads the
objects of Cluster API on the seed and on the management cluster, and asks the cloud now,
with each cluster's own credential.

For each cause it prints what and which object it is, since when, and who says so, the
chain that leads there, the words of the cloud, and the fix. What follows from a cause is
listed under it. If there is no cause it says what it looked at, and what it could not see.

The reason IDs in brackets are stable; docs/reference/reasons.md lists them.`,
		Example: `  slipway why
  slipway why shop
  slipway why shop-default-worker-x7k2p
  slipway why -o json | jq -r '.answers[].findings[].reason'`,
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
	ui.FormatFlag(cmd.Flags(), &o.format)
	return cmd
}

// patience bounds the whole answer.
const patience = 60 * time.Second

func (o options) run(ctx context.Context, streams ui.Streams, asked string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no answer within %s", patience))
	defer cancel()
	w, err := open(ctx, o.from)
	if err != nil {
		return err
	}
	defer w.close()
	r := w.answer(ctx, asked, o.namespace)
	if asked != "" && len(r.Answers) == 0 && len(r.Unseen) == 0 {
		return fault.Usage(asked, errors.New("no cluster, machine or resource of the environment has this name or ID"),
			"list the clusters with slipway cluster list, and their machines with slipway cluster describe")
	}
	if o.format == "table" {
		_, err := streams.Out.Write([]byte(r.text()))
		return err
	}
	return ui.Output(streams.Out, o.format, r, ui.Table{})
}

// result is what the command prints.
type result struct {
	Environment string    `json:"environment"`
	Asked       string    `json:"asked,omitempty"`
	At          time.Time `json:"at"`
	Answers     []answer  `json:"answers"`
	// Unseen is what could not be looked at for any of them.
	Unseen []cause.Unseen `json:"unseen,omitempty"`
}

// answer is about one cluster, or about the environment's own servers.
type answer struct {
	// On is where the cluster's objects are: "seed" or "management"; "cloud" if no
	// Kubernetes was asked.
	On        string `json:"on"`
	Namespace string `json:"namespace,omitempty"`
	Cluster   string `json:"cluster,omitempty"`
	cause.Answer
}
