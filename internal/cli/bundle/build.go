package bundle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/source"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

type buildOptions struct {
	dir, from, progress, format string
	source.Options
}

func newBuild(streams ui.Streams) *cobra.Command {
	o := buildOptions{progress: "auto", format: "table"}
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build a bundle from Go modules and Debian packages",
		Long: `Builds every item from source with the go command and Debian's tools. They use the
module proxy and the mirror that they are configured with. Items that did not change
are not built again, so an interrupted build resumes where it stopped. A cold build
takes about 19 minutes on two processors and 25 GB of disk including Go's caches. The
step "bundle" shows how much of it is done. Machine images need root.`,
		Example: `  slipway bundle build
  slipway bundle build --only kubelet,kubeadm
  slipway bundle build --with velero,monitoring
  slipway bundle build --dir /srv/bundle --jobs 4 --progress json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams) },
	}
	dirFlag(cmd, &o.dir)
	flags := cmd.Flags()
	flags.StringVar(&o.from, "from", "source", "where the items come from; only \"source\" is possible: use slipway bundle pull for upstream's files")
	flags.StringSliceVar(&o.Only, "only", nil, "build only these items and their dependencies; they are read and checked first")
	flags.StringSliceVar(&o.With, "with", nil, "build optional items too: "+strings.Join(component.OptionNames(), ", "))
	flags.BoolVar(&o.Force, "force", false, "build items that did not change too, for example to pick up new Debian packages")
	flags.BoolVar(&o.DiscardCache, "discard-cache", false, "remove intermediate results at the end, about 5 GB; the next build makes those that it needs again")
	flags.IntVar(&o.Jobs, "jobs", 0, "how many items to build at once (default: one per processor and 4 GiB of free memory)")
	flags.StringVar(&o.DebianSuite, "debian-suite", source.DefaultSuite, "Debian release of machine images and base images")
	flags.StringVar(&o.DebianMirror, "debian-mirror", "", "URL of the Debian mirror (default: mmdebstrap's own)")
	ui.FormatFlag(flags, &o.format)
	ui.ProgressFlag(flags, &o.progress)
	return cmd
}

func (o buildOptions) run(ctx context.Context, streams ui.Streams) error {
	if err := o.validate(); err != nil {
		return err
	}
	o.Env = os.Environ()
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding slipway's own binary: %w", err)
	}
	o.Program = program
	if err := source.Preflight(ctx, o.Options); err != nil {
		return err
	}
	folder, err := bundle.Create(o.dir, source.Platform())
	if err != nil {
		return err
	}
	defer folder.Close()
	progress, err := ui.NewProgress(o.progress, streams)
	if err != nil {
		return err
	}
	o.Sink = progress
	report, err := source.Build(ctx, folder, o.Options)
	progress.Close()
	return errors.Join(err, ui.Output(streams.Out, o.format, report, reportTable(report)))
}

func (o buildOptions) validate() error {
	var wrong []error
	if o.from != "source" {
		wrong = append(wrong, fault.Usage("--from", fmt.Errorf("%q is not \"source\"", o.from), "use `slipway bundle pull` for upstream's files"))
	}
	if o.Jobs < 0 {
		wrong = append(wrong, fault.Usage("--jobs", fmt.Errorf("%d is negative", o.Jobs), "give a number of 1 or more, or leave the flag out"))
	}
	return errors.Join(wrong...)
}

// reportTable is the time report: what was built, slowest first.
func reportTable(r source.Report) ui.Table {
	timings := slices.Clone(r.Timings)
	timings = slices.DeleteFunc(timings, func(t source.Timing) bool { return t.Result == "unchanged" })
	slices.SortFunc(timings, func(x, y source.Timing) int { return int(y.Seconds*1000) - int(x.Seconds*1000) })
	table := ui.Table{Header: []string{"ITEM", "RESULT", "SECONDS"}}
	for _, t := range timings {
		table.Rows = append(table.Rows, []string{t.Name, t.Result, fmt.Sprintf("%.1f", t.Seconds)})
	}
	interrupted := ""
	if n := r.Counted("interrupted"); n > 0 {
		interrupted = fmt.Sprintf(", %d interrupted", n)
	}
	table.Footer = []string{fmt.Sprintf("%d built, %d unchanged, %d failed%s in %s", r.Counted("built"), r.Counted("unchanged"), r.Counted("failed"), interrupted,
		ui.Duration(time.Duration(r.Seconds*float64(time.Second))))}
	if r.Freed > 0 {
		table.Footer = append(table.Footer, ui.Bytes(r.Freed)+" of replaced items removed")
	}
	return table
}
