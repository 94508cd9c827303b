// Package support is `slipway support`: one archive for whoever helps.
package support

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/witness"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/redact"
	"github.com/slipway-sh/slipway/internal/support"
	"github.com/slipway-sh/slipway/internal/ui"
)

type options struct {
	from       environment.Flags
	clusters   []string
	recipients []string
	out        string
	size       string
	lines      int64
	limits     support.Limits
	progress   string
	format     string
}

// New returns the command.
func New(streams ui.Streams) *cobra.Command {
	o := options{limits: support.DefaultLimits(), size: "100Mi", lines: 2000, progress: "auto", format: "table"}
	cmd := &cobra.Command{
		Use:   "support",
		Short: "Write an archive with all that is needed to find a cause from afar",
		Long: `Writes one compressed archive, mode 0600, with the objects, events and controller logs of
the seed and of the management cluster, journals, consoles of machines that are not well,
faults of servers, load balancers with their members, ports with their bindings, quotas,
the state's resources, the plan, versions, the events of the last runs, and the answer of
slipway why. Of workload clusters it has what Cluster API knows; name those whose own
objects and addon logs are to be in it with --cluster.

Secrets are taken out: of Secrets and ConfigMaps only names and sizes of the keys are
left, and every byte is looked through for the secrets that Slipway knows and for what has
the form of one. With --recipient the archive is encrypted with age.

Parts are collected in parallel, each within its own time. What cannot be read is listed in
missing.json with its cause, and the rest is written all the same.

slipway why --from ARCHIVE answers from it, offline.`,
		Example: `  slipway support
  slipway support --cluster shop --cluster prod/web
  slipway support --recipient age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kudxkxuksyxf8zt
  slipway support -o json | jq -r .missing`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams) },
	}
	flags := cmd.Flags()
	o.from.Add(flags)
	flags.StringArrayVar(&o.clusters, "cluster", nil, "also collect from this workload cluster, NAME or NAMESPACE/NAME; can be repeated")
	flags.StringArrayVar(&o.recipients, "recipient", nil, "encrypt for this age recipient (age1…); can be repeated")
	flags.StringVar(&o.out, "out", "", "file to write; it must not exist (default: slipway-support-NAME-TIME.tar.zst in this folder)")
	flags.StringVar(&o.size, "max-size", o.size, "size of all files together before compression, such as 500Mi")
	flags.Int64Var(&o.lines, "log-lines", o.lines, "lines of each log, from the end")
	flags.DurationVar(&o.limits.Whole, "timeout", o.limits.Whole, "time for all parts together")
	flags.DurationVar(&o.limits.Part, "part-timeout", o.limits.Part, "time for one part")
	ui.ProgressFlag(flags, &o.progress)
	ui.FormatFlag(flags, &o.format)
	return cmd
}

// check reports all mistakes in the flags at once.
func (o *options) check() (support.Target, error) {
	recipients, err := support.Recipients(o.recipients)
	faults := fault.All(err)
	size, err := resource.ParseQuantity(o.size)
	if err != nil || size.Value() < 1<<20 {
		faults = append(faults, fault.Usage("--max-size "+o.size, errors.New("it is not a size of at least 1Mi"), "give a size such as 100Mi"))
	}
	o.limits.Size = size.Value()
	if o.lines < 1 {
		faults = append(faults, fault.Usage("--log-lines", fmt.Errorf("%d is less than 1", o.lines), "give a number of lines"))
	}
	if o.limits.Whole <= 0 || o.limits.Part <= 0 {
		faults = append(faults, fault.Usage("--timeout, --part-timeout", errors.New("a time must be more than 0"), "give a duration such as 5m"))
	}
	return support.Target{Path: o.out, Recipients: recipients}, errors.Join(faults...)
}

func (o options) run(ctx context.Context, streams ui.Streams) error {
	to, err := o.check()
	if err != nil {
		return err
	}
	progress, err := ui.NewProgress(o.progress, streams)
	if err != nil {
		return err
	}
	finish := sync.OnceFunc(progress.Close)
	defer finish()
	// Whatever a part left behind ends with this.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := witness.Open(ctx, o.from)
	if err != nil {
		return err
	}
	defer w.Close()
	now := time.Now()
	name := w.Loaded.Environment.Metadata.Name
	if to.Path == "" {
		to.Path = fmt.Sprintf("slipway-support-%s-%s.tar.zst", name, now.UTC().Format("20060102T150405Z"))
		if len(to.Recipients) > 0 {
			to.Path += ".age"
		}
	}
	if to.Path, err = filepath.Abs(to.Path); err != nil {
		return fmt.Errorf("finding the folder: %w", err)
	}
	if info, err := os.Stat(filepath.Dir(to.Path)); err != nil || !info.IsDir() { // before a minute of work
		return fault.Usage("--out "+to.Path, fmt.Errorf("%s is no folder", filepath.Dir(to.Path)), "create it, or choose another")
	}
	if _, err := os.Lstat(to.Path); err == nil {
		return fault.Usage("--out "+to.Path, errors.New("it exists"), "choose another name")
	}
	known := &redact.Known{}
	c := collector{w: w, known: known, lines: o.lines}
	collected := support.Collect(ctx, c.parts(o.clusters), o.limits, progress)
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	written, err := support.Write(to, support.Manifest{Environment: name, Created: now, By: environment.UserAgent()}, collected, known, o.limits)
	if err != nil {
		return err
	}
	finish()
	return ui.Output(streams.Out, o.format, written, table(written))
}

// shown is how many missing things the table names.
const shown = 10

func table(w support.Written) ui.Table {
	t := ui.Table{Header: []string{"ARCHIVE", "SIZE", "FILES", "MISSING"}, Rows: [][]string{{w.Path, ui.Bytes(w.Bytes), fmt.Sprint(w.Files), fmt.Sprint(len(w.Missing))}}}
	for i, m := range w.Missing {
		if i == shown {
			t.Footer = append(t.Footer, fmt.Sprintf("and %d more: see missing.json in the archive", len(w.Missing)-shown))
			break
		}
		what := m.Part
		if m.What != "" {
			what += "/" + m.What
		}
		t.Footer = append(t.Footer, "missing: "+what+": "+m.Cause)
	}
	if !w.Encrypted {
		t.Footer = append(t.Footer, "not encrypted: it has names and addresses of your cloud; encrypt it with --recipient before you send it over a way that others see")
	}
	return t
}
