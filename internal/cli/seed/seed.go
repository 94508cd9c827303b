// Package seed is `slipway seed`: shelving the seed that is not needed, and
// waking it.
package seed

import (
	"context"
	"sync"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/ui"
)

// New returns the command.
func New(streams ui.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "seed",
		Short: "Shelve the seed while the management cluster looks after itself, and wake it",
		Long: `With spec.seed.role: pivot the management cluster looks after itself, and the seed is
needed only by up, down and other commands that change something. Shelved, it uses no
host; its volume, its address and all that is on it stay.`,
	}
	cmd.AddCommand(newShelve(streams), newWake(streams))
	return cmd
}

type options struct {
	from             environment.Flags
	yes              bool
	progress, format string
}

func (o *options) add(cmd *cobra.Command) {
	o.progress, o.format = "auto", "table"
	o.from.Add(cmd.Flags())
	ui.ProgressFlag(cmd.Flags(), &o.progress)
	ui.FormatFlag(cmd.Flags(), &o.format)
}

// result is what both print as data.
type result struct {
	Environment string `json:"environment"`
	Seed        string `json:"seed"`
	ID          string `json:"id"`
	// State is the server's, in Nova's words.
	State string `json:"state"`
}

// run opens the environment with its seed, lets do change it, and prints the
// state of the server.
func (o options) run(ctx context.Context, streams ui.Streams, do func(context.Context, *target.Target, *target.Seed, event.Sink) (string, error)) error {
	progress, err := ui.NewProgress(o.progress, streams)
	if err != nil {
		return err
	}
	finish := sync.OnceFunc(func() { progress.Close() })
	defer finish()
	t, err := target.Open(ctx, o.from, progress)
	if err != nil {
		return err
	}
	seed, err := t.Seed(ctx)
	if err != nil {
		return err
	}
	state, err := do(ctx, t, seed, progress)
	finish()
	if err != nil {
		return err
	}
	r := result{t.Name(), seed.Name, seed.ServerID, state}
	return ui.Output(streams.Out, o.format, r, ui.Table{Header: []string{"SEED", "STATE", "ID"}, Rows: [][]string{{r.Seed, r.State, r.ID}}})
}

func newWake(streams ui.Streams) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "wake",
		Short: "Wake the shelved seed and wait until its Kubernetes answers",
		Long: `Unshelves the seed's server and waits until it can be logged in to and its Kubernetes
answers. It may come up on another host; a seed that runs is left alone.`,
		Example: `  slipway seed wake
  slipway seed wake && slipway up`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), streams, func(ctx context.Context, t *target.Target, seed *target.Seed, progress event.Sink) (string, error) {
				return t.Wake(ctx, seed, progress)
			})
		},
	}
	o.add(cmd)
	return cmd
}
