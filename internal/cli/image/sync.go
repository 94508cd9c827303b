package image

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-sh/slipway/images"
	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/ui"
)

// syncFlags are the flags of commands that upload.
type syncFlags struct {
	jobs    int
	tempDir string
	replace bool
	wait    time.Duration
}

func (f *syncFlags) add(flags *pflag.FlagSet) {
	flags.IntVar(&f.jobs, "jobs", 2, "how many images to upload at once; each takes about 16 MiB of memory")
	flags.StringVar(&f.tempDir, "temp-dir", "", "folder for converting images that are not local files (default: the system's temporary folder)")
	flags.BoolVar(&f.replace, "replace", false, "rename and hide an image that has the same name but other content")
	flags.DurationVar(&f.wait, "import-wait", 15*time.Minute, "how long to wait for an import by Glance")
}

func newSync(streams ui.Streams) *cobra.Command {
	o, f := newOptions(), &syncFlags{}
	cmd := &cobra.Command{
		Use:   "sync",
		Short: "Upload and update images so that Glance matches an image manifest",
		Long: `Uploads missing images and sets the properties of existing ones. An image is recognised
by its content, not by its name: an existing image with the same content is used, also a
community image or one that a trusted project shares. The image streams from its source
to Glance and is unpacked and converted on the way; Glance does not get the last bytes
before the digest and the signature are verified. Uploads that an earlier run left
unfinished are resumed or removed. At the end the IDs are printed. The exit code is 4 if
some images failed.`,
		Example: `  slipway image sync
  slipway image sync -m https://example.org/manifest.json --only kube_1_34 --visibility community
  slipway image sync --cloud mycloud --convert raw -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := o.read(cmd.Context())
			if err != nil {
				return err
			}
			return o.sync(cmd.Context(), streams, m, f)
		},
	}
	o.manifestFlags(cmd.Flags())
	o.cloudFlags(cmd.Flags())
	f.add(cmd.Flags())
	ui.FormatFlag(cmd.Flags(), &o.format)
	ui.ProgressFlag(cmd.Flags(), &o.progress)
	return cmd
}

func (o *options) sync(ctx context.Context, streams ui.Streams, m *manifest.Manifest, f *syncFlags) error {
	var results []images.Result
	err := o.work(ctx, streams, func(s *images.Syncer) (err error) {
		s.Jobs, s.TempDir, s.Replace, s.ImportWait = f.jobs, f.tempDir, f.replace, f.wait
		results, err = s.Sync(ctx, m)
		return err
	})
	if len(results) > 0 {
		if printed := ui.Output(streams.Out, o.format, results, resultTable(results)); printed != nil {
			return printed
		}
	}
	return err
}

func resultTable(results []images.Result) ui.Table {
	table := ui.Table{Header: []string{"NAME", "ID", "ACTION", "SENT", "REASON"}}
	changed := 0
	for _, r := range results {
		sent := ""
		if r.Bytes > 0 {
			sent = ui.Bytes(r.Bytes)
		}
		if r.Changed {
			changed++
		}
		table.Rows = append(table.Rows, []string{r.Name, r.ID, string(r.Action), sent, r.Reason})
	}
	table.Footer = []string{fmt.Sprintf("%d changed, %d unchanged", changed, len(results)-changed)}
	return table
}
