// Package down is `slipway down`.
package down

import (
	"context"
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

type options struct {
	from     environment.Flags
	yes, dry bool
	progress string
	format   string
}

// New returns the command.
func New(streams ui.Streams) *cobra.Command {
	o := options{progress: "auto", format: "table"}
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Delete the environment and prove that nothing is left",
		Long: `Deletes everything of the environment, what was made last first; then whatever else
in the cloud carries the environment's mark; then lists what carries it to prove
that nothing is left. It works with the state lost and with the seed gone. Things
without the mark are not touched, whatever their names.`,
		Example: `  slipway down --dry-run
  slipway down --yes`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams) },
	}
	o.from.Add(cmd.Flags())
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&o.dry, "dry-run", false, "list what would be deleted and delete nothing")
	ui.ProgressFlag(cmd.Flags(), &o.progress)
	ui.FormatFlag(cmd.Flags(), &o.format)
	return cmd
}

// result is what down prints as data.
type result struct {
	Environment string            `json:"environment"`
	DryRun      bool              `json:"dryRun"`
	Deleted     []openstack.Thing `json:"deleted"`
	Left        []openstack.Thing `json:"left"`
	// Quota is what the project uses, before and after.
	Before openstack.Usage `json:"usedBefore"`
	After  openstack.Usage `json:"usedAfter"`
}

func (o options) run(ctx context.Context, streams ui.Streams) error {
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
	r := result{Environment: t.Name(), DryRun: o.dry, Deleted: []openstack.Thing{}, Left: []openstack.Thing{}}
	things, err := t.Inventory.List(ctx, t.Name())
	if err != nil {
		return err
	}
	r.Deleted = append(r.Deleted, things...)
	if r.Before, err = t.Inventory.Usage(ctx); err != nil {
		return err
	}
	if o.dry {
		r.Left, r.After = things, r.Before
		finish()
		return ui.Output(streams.Out, o.format, r, r.table("would be deleted"))
	}
	if err := o.ask(streams, r); err != nil {
		return err
	}
	failed := o.remove(ctx, t, progress)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := r.prove(ctx, t); err != nil {
		return err
	}
	finish()
	if len(r.Left) == 0 {
		failed = nil // what the engine could not delete the sweep could
	}
	if err := ui.Output(streams.Out, o.format, r, r.table("deleted")); err != nil {
		return err
	}
	return r.verdict(failed)
}

// ask shows what will go; nothing needs no answer.
func (o options) ask(streams ui.Streams, r result) error {
	if o.yes || len(r.Deleted) == 0 {
		return nil
	}
	if err := ui.Output(streams.Err, "table", nil, r.table("will be deleted")); err != nil {
		return err
	}
	return target.Confirm(streams, "delete all of this, with its data?")
}

// prove lists what is left and what the project uses now.
func (r *result) prove(ctx context.Context, t *target.Target) error {
	left, err := t.Inventory.List(ctx, t.Name())
	if err != nil {
		return err
	}
	r.Left = append(r.Left, left...)
	r.After, err = t.Inventory.Usage(ctx)
	return err
}

func (r result) verdict(failed error) error {
	if len(r.Left) == 0 {
		return failed
	}
	if failed == nil {
		failed = fmt.Errorf("things left: %d", len(r.Left))
	}
	return &fault.Fault{Exit: fault.ExitPartial, Object: r.Environment, Err: failed, Remedy: "do away with the cause and run slipway down again"}
}

func (r result) table(word string) ui.Table {
	table := ui.Table{Header: []string{"TYPE", "NAME", "STATE", "ID"}}
	list := r.Deleted
	if len(r.Left) > 0 {
		list = r.Left
	}
	for _, thing := range list {
		table.Rows = append(table.Rows, []string{thing.Type, thing.Name, thing.State, thing.ID})
	}
	table.Footer = []string{fmt.Sprintf("%d things of %s %s", len(r.Deleted), r.Environment, word)}
	if word != "deleted" {
		return table
	}
	table.Footer = append(table.Footer, fmt.Sprintf("%d left", len(r.Left)), "used of the quota, before and after:")
	for _, name := range r.Before.Names() {
		table.Footer = append(table.Footer, fmt.Sprintf("  %-16s %6d %6d", name, r.Before[name], r.After[name]))
	}
	return table
}
