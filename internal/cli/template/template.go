// Package template is `slipway template`: it manages cluster templates through the
// Magnum API.
package template

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-sh/slipway/images"
	"github.com/slipway-sh/slipway/images/source"
	"github.com/slipway-sh/slipway/images/template"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// New returns the command with its sub-commands.
func New(streams ui.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "template",
		Short: "Manage cluster templates from a file",
		Long: `A file lists cluster templates: Kubernetes version, image, flavors, networks, labels.
The commands make the templates of a Magnum API, Slipway's or OpenStack's own, match the
file. A template that changed is created again under its name; the old one is hidden,
and deleted when no cluster uses it any more. See docs/guides/images.md.`,
	}
	cmd.AddCommand(newList(streams), newSync(streams), newDiff(streams))
	return cmd
}

// options are the flags that the commands share.
type options struct {
	cloud            environment.CloudFlags
	file             string
	format, progress string
}

func newOptions() *options { return &options{format: "table", progress: "auto"} }

func (o *options) fileFlag(flags *pflag.FlagSet) {
	flags.StringVarP(&o.file, "templates", "t", "templates.yaml", "file or URL of the list of templates")
}

func newList(streams ui.Streams) *cobra.Command {
	o := newOptions()
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List cluster templates with their images",
		Example: `  slipway template list
  slipway template list --cloud mycloud -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.list(cmd.Context(), streams) },
	}
	o.cloud.Add(cmd.Flags())
	ui.FormatFlag(cmd.Flags(), &o.format)
	return cmd
}

// row is one template in the output of list.
type row struct {
	UUID       string `json:"uuid"`
	Name       string `json:"name"`
	Kubernetes string `json:"kubernetesVersion"`
	Image      string `json:"image"`
	Public     bool   `json:"public"`
	Hidden     bool   `json:"hidden"`
	Problem    string `json:"problem,omitempty"`
}

func (o *options) list(ctx context.Context, streams ui.Streams) error {
	c, _, err := o.cloud.Open(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	s, err := template.New(c, event.Discard{})
	if err != nil {
		return err
	}
	list, err := s.List(ctx)
	if err != nil {
		return err
	}
	records, err := s.Images(ctx)
	if err != nil {
		return err
	}
	slices.SortStableFunc(list, func(a, b template.Live) int { return strings.Compare(a.Name, b.Name) })
	rows, table := []row{}, ui.Table{Header: []string{"UUID", "NAME", "KUBERNETES", "IMAGE", "PUBLIC", "HIDDEN", "PROBLEM"}}
	for _, l := range list {
		r := row{UUID: l.UUID, Name: l.Name, Image: l.ImageID, Public: l.Public, Hidden: l.Hidden}
		if image, err := images.Resolve(records, s.Project(), l.ImageID); err != nil {
			r.Problem = err.Error()
		} else {
			r.Kubernetes, r.Image = images.KubernetesVersion(image), image.Name
		}
		rows = append(rows, r)
		table.Rows = append(table.Rows, []string{r.UUID, r.Name, r.Kubernetes, r.Image, strconv.FormatBool(r.Public), strconv.FormatBool(r.Hidden), r.Problem})
	}
	return ui.Output(streams.Out, o.format, rows, table)
}

func newSync(streams ui.Streams) *cobra.Command {
	o := newOptions()
	cmd := &cobra.Command{
		Use:   "sync",
		Short: "Create, update and retire cluster templates as a file says",
		Long: `Creates missing templates, updates in place what Magnum allows, replaces the others, and
retires templates of the same set that left the file. It refuses an image that is not fit
for a template's Kubernetes version, and names the property that does not match. The exit
code is 4 if some templates failed.`,
		Example: `  slipway template sync
  slipway template sync -t templates.yaml --cloud mycloud -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams, true) },
	}
	o.fileFlag(cmd.Flags())
	o.cloud.Add(cmd.Flags())
	ui.FormatFlag(cmd.Flags(), &o.format)
	ui.ProgressFlag(cmd.Flags(), &o.progress)
	return cmd
}

func newDiff(streams ui.Streams) *cobra.Command {
	o := newOptions()
	cmd := &cobra.Command{
		Use:   "diff",
		Short: "Show what sync would change",
		Example: `  slipway template diff
  slipway template diff -o yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams, false) },
	}
	o.fileFlag(cmd.Flags())
	o.cloud.Add(cmd.Flags())
	ui.FormatFlag(cmd.Flags(), &o.format)
	return cmd
}

// run plans, and with apply carries out the plan. A template that fails does not
// keep the others from being applied.
func (o *options) run(ctx context.Context, streams ui.Streams, apply bool) error {
	text, err := source.Opener{}.ReadText(ctx, o.file)
	if err != nil {
		return err
	}
	file, err := template.Parse(config.Source{Name: o.file, Text: text})
	if err != nil {
		return err
	}
	progress, err := ui.NewProgress(o.progress, streams)
	if err != nil {
		return err
	}
	defer progress.Close()
	c, _, err := o.cloud.Open(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	s, err := template.New(c, progress)
	if err != nil {
		return err
	}
	changes, failed := s.Plan(ctx, file)
	if apply {
		var err error
		changes, err = s.Sync(ctx, changes)
		failed = errors.Join(failed, err)
	}
	if err := ui.Output(streams.Out, o.format, append([]template.Change{}, changes...), changeTable(changes)); err != nil {
		return err
	}
	some := slices.ContainsFunc(changes, func(c template.Change) bool { return c.Step != template.Keep })
	if apply && failed != nil && some {
		return &fault.Fault{Exit: fault.ExitPartial, Err: failed}
	}
	return failed
}

func changeTable(changes []template.Change) ui.Table {
	table := ui.Table{Header: []string{"STEP", "NAME", "UUID", "REASON"}}
	for _, c := range changes {
		table.Rows = append(table.Rows, []string{string(c.Step), c.Name, c.UUID, c.Reason})
		for _, d := range c.Differences {
			table.Rows = append(table.Rows, []string{"", "  " + d.Field, "", fmt.Sprintf("%v → %v", d.Has, d.Wants)})
		}
	}
	return table
}
