// Package down is `slipway down`.
package down

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/images"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

type options struct {
	from           environment.Flags
	timeout        target.Timeout
	yes, dry       bool
	deleteClusters bool
	images         bool
	purge          string
	progress       string
	format         string
}

// New returns the command.
func New(streams ui.Streams) *cobra.Command {
	o := options{progress: "auto", format: "table"}
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Delete the environment and check that nothing is left",
		Long: `Deletes the resources of the environment in reverse order of creation, then every other
resource in the cloud that carries the environment's ownership tag. At the end it lists
what still carries the tag, to prove that nothing is left. It works without the state
and without the seed. Resources without the tag are not touched, whatever their names.

A self-managed management cluster is pivoted back to the seed first, because a cluster
cannot delete itself completely; a shelved seed is woken for that. If the management
cluster has workload clusters, down lists them and refuses, unless you give
--delete-clusters. It also refuses if the seed is there but cannot be asked for them.

Images of spec.images stay and are listed. With --images, those are deleted that the
environment uploaded, that are private and that nothing uses. Volumes of workloads are
deleted or kept as spec.volumesPolicy says; those that are kept are listed.

With --purge-project and the project's ID, everything else in the project is deleted after
that, whoever made it: counts per type are shown first. Key pairs and application
credentials of other users stay, and the credential that you are logged in with.`,
		Example: `  slipway down --dry-run
  slipway down --yes
  slipway down --delete-clusters --yes`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.timeout.Run(cmd.Context(), func(ctx context.Context) error { return o.run(ctx, streams) })
		},
	}
	o.from.Add(cmd.Flags())
	o.timeout.Add(cmd.Flags())
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	cmd.Flags().BoolVar(&o.deleteClusters, "delete-clusters", false, "also delete the workload clusters of the management cluster; continue if it cannot be asked for them")
	cmd.Flags().BoolVar(&o.images, "images", false, "also delete the images of spec.images that the environment uploaded and nothing uses")
	cmd.Flags().StringVar(&o.purge, "purge-project", "", "also delete everything else in the project with this ID, which must be the login's, whoever made it")
	cmd.Flags().BoolVar(&o.dry, "dry-run", false, "list what would be deleted, and delete nothing")
	ui.ProgressFlag(cmd.Flags(), &o.progress)
	ui.FormatFlag(cmd.Flags(), &o.format)
	return cmd
}

// result is what down prints as data.
type result struct {
	Environment string               `json:"environment"`
	DryRun      bool                 `json:"dryRun"`
	Deleted     []openstack.Resource `json:"deleted"`
	Left        []openstack.Resource `json:"left"`
	// Volumes are those of workloads on the management cluster.
	Volumes []openstack.WorkloadVolume `json:"volumes"`
	// Images are those that the environment uploaded, and whether they stay.
	Images []images.Retirement `json:"images"`
	// Project is everything in the project, with --purge-project: what would be deleted or,
	// in the end, what is left.
	Project []openstack.Resource `json:"project,omitempty"`
	// Unclear are credentials that stay because they name no region, and the cloud has several.
	Unclear []openstack.Resource `json:"unclear,omitempty"`
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
	r, err := o.look(ctx, t)
	if err != nil {
		return err
	}
	if o.dry {
		r.Left, r.After = r.Deleted, r.Before
		finish()
		return ui.Output(streams.Out, o.format, r, r.table("would be deleted"))
	}
	if err := o.ask(ctx, streams, r); err != nil {
		return err
	}
	if err := unlocked(ctx, t); err != nil {
		return err
	}
	if target.ShelvedSeed(r.Deleted) {
		wake(ctx, t, progress)
	}
	if err := o.clusters(ctx, t, r.Deleted, progress); err != nil {
		return err
	}
	failed, volumes := o.remove(ctx, t, r.Deleted, r.Volumes, progress)
	if ctx.Err() != nil {
		return errors.Join(cmp.Or(failed, context.Cause(ctx)), volumes)
	}
	if err := r.prove(ctx, t); err != nil {
		return err
	}
	purged := o.purgeRest(ctx, t, &r, progress)
	var kept error
	r.Images, kept = o.leaveImages(ctx, t.Cloud, t.Name(), progress)
	kept = errors.Join(kept, r.listUnclear(ctx, t))
	finish()
	if len(r.Left) == 0 {
		failed = settled(ctx, t, failed)
	}
	if err := ui.Output(streams.Out, o.format, r, r.table("deleted")); err != nil {
		return err
	}
	return errors.Join(r.verdict(failed), volumes, r.purgeVerdict(purged), kept)
}

// look lists what there is to delete.
func (o options) look(ctx context.Context, t *target.Target) (result, error) {
	r := result{Environment: t.Name(), DryRun: o.dry, Deleted: []openstack.Resource{}, Left: []openstack.Resource{}}
	if err := o.mayPurge(t); err != nil {
		return r, err
	}
	things, err := t.Inventory.List(ctx, t.Name())
	if err != nil {
		return r, err
	}
	r.Deleted = append(r.Deleted, things...)
	if r.Before, err = t.Inventory.Usage(ctx); err != nil {
		return r, err
	}
	if r.Images, err = o.listImages(ctx, t.Cloud, t.Name()); err != nil {
		return r, err
	}
	if r.Volumes, err = listVolumes(ctx, t, things); err != nil {
		return r, err
	}
	r.Project, err = o.whole(ctx, t)
	return r, err
}

// wake wakes a shelved seed, so that the clusters are deleted in order. If it does
// not wake its step says why, and nobody can be asked for clusters.
func wake(ctx context.Context, t *target.Target, progress event.Sink) {
	if seed, err := t.Seed(ctx); err == nil {
		_, _ = t.Wake(ctx, seed, progress)
	}
}

// ask shows what will be deleted and asks for confirmation, unless that is nothing.
func (o options) ask(ctx context.Context, streams ui.Streams, r result) error {
	if o.purge != "" && len(r.Project) > 0 {
		fmt.Fprintf(streams.Err, "everything in the project %s will be deleted, whoever made it: %s\n", o.purge, counts(r.Project))
	}
	if o.yes || len(r.Deleted) == 0 && len(r.Project) == 0 && (len(r.Images) == 0 || !o.images) {
		return nil
	}
	if err := ui.Output(streams.Err, "table", nil, r.table("will be deleted")); err != nil {
		return err
	}
	return target.Confirm(ctx, streams, "delete all of this, including its data?")
}

// prove lists what is left, and what the project uses now.
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
	var stays registered
	if errors.As(failed, &stays) {
		return &fault.Fault{Exit: fault.ExitPartial, Err: failed, Remedy: fault.Remedy(stays)}
	}
	if len(r.Left) == 0 {
		return failed
	}
	if failed == nil {
		failed = fmt.Errorf("resources left: %d", len(r.Left))
	}
	return &fault.Fault{Exit: fault.ExitPartial, Object: r.Environment, Err: failed, Remedy: "remove the cause and run slipway down again"}
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
	if len(r.Project) > 0 {
		table.Footer = append(table.Footer, "in the whole project: "+counts(r.Project))
	}
	table.Footer = append(append(append(append(table.Footer, r.volumeLines()...), r.imageLines()...), r.unclearLines()...), fmt.Sprintf("%d resources of %s %s", len(r.Deleted), r.Environment, word))
	if word != "deleted" {
		return table
	}
	table.Footer = append(table.Footer, fmt.Sprintf("%d left", len(r.Left)), "quota used before and after:")
	for _, name := range r.Before.Names() {
		table.Footer = append(table.Footer, fmt.Sprintf("  %-16s %6d %6d", name, r.Before[name], r.After[name]))
	}
	return table
}
