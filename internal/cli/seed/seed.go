// Package seed is `slipway seed`: it shelves a seed that is not needed, and wakes
// it.
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
		Short: "Shelve the seed while the management cluster is self-managed, and wake it",
		Long: `With spec.seed.role: pivot the management cluster is self-managed, and only up, down and
other commands that change something need the seed. A shelved seed uses no host; it
keeps its volume, its address and everything on it.`,
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
	// State is the server's status in Nova.
	State string `json:"state"`
}

// run opens the environment with its seed, calls do to change the seed, and prints
// the server's status.
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
	if seed.Local != "" {
		return target.ErrNoSeed()
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
		Long: `Unshelves the seed's server and waits until SSH and Kubernetes on it answer. The server
may start on another host. A running seed is left alone.`,
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
