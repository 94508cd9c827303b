package image

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/semver"

	"github.com/slipway-sh/slipway/images"
	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/ui"
)

func newList(streams ui.Streams) *cobra.Command {
	o, all, wide := newOptions(), false, false
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List node images in Glance",
		Long: `Lists the images that the project can see and that have a Kubernetes version or were
uploaded by Slipway, newest version first. --all adds all others, including community
and hidden images.`,
		Example: `  slipway image list
  slipway image list --all -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.list(cmd.Context(), streams, all, wide) },
	}
	o.cloudFlags(cmd.Flags())
	cmd.Flags().BoolVar(&all, "all", false, "list all images, including hidden and community ones")
	cmd.Flags().BoolVar(&wide, "wide", false, "also show project, format and ID, however wide the table gets")
	ui.FormatFlag(cmd.Flags(), &o.format)
	return cmd
}

func (o *options) list(ctx context.Context, streams ui.Streams, all, wide bool) error {
	var list []images.Record
	project := ""
	err := o.work(ctx, streams, func(s *images.Syncer) (err error) {
		project = s.Glance.Project
		list, err = s.Glance.List(ctx, all, false)
		if err != nil || !all {
			return err
		}
		hidden, err := s.Glance.List(ctx, all, true)
		list = append(list, hidden...)
		return err
	})
	if err != nil {
		return err
	}
	if !all {
		list = slices.DeleteFunc(list, func(r images.Record) bool {
			return images.KubernetesVersion(r) == "" && r.Properties[images.PropertyMark] == ""
		})
	}
	slices.SortStableFunc(list, newest)
	return ui.Output(streams.Out, o.format, append([]images.Record{}, list...), listTable(list, project, wide))
}

// newest orders images by their version of Kubernetes, and those of one version by when they were
// uploaded, the newest first. Those without a version are last.
func newest(a, b images.Record) int {
	return cmp.Or(semver.Compare("v"+images.KubernetesVersion(b), "v"+images.KubernetesVersion(a)), b.CreatedAt.Compare(a.CreatedAt))
}

// listTable fits a terminal unless it is to be wide.
func listTable(list []images.Record, project string, wide bool) ui.Table {
	table := ui.Table{Header: []string{"NAME", "KUBERNETES", "DISTRO", "STATUS", "VISIBILITY", "SIZE", "BY"}, Fit: ui.Terminal}
	if wide {
		table = ui.Table{Header: append(table.Header, "PROJECT", "FORMAT", "ID")}
	}
	for _, r := range list {
		row := []string{r.Name, images.KubernetesVersion(r), r.Properties[manifest.PropertyDistro], status(r), r.Visibility, ui.Bytes(r.Size), by(r, project)}
		if wide {
			row = append(row, r.Owner, r.DiskFormat, r.ID)
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

func status(r images.Record) string {
	if r.Hidden {
		return strings.TrimSpace(r.Status + ", hidden")
	}
	return r.Status
}

// by says who uploaded an image.
func by(r images.Record, project string) string {
	switch {
	case r.Owner != project:
		return "another project"
	case r.Properties[images.PropertyMark] != "":
		return "slipway"
	}
	return "this project"
}
