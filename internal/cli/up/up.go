// Package up is `slipway up`.
package up

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/preflight"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
)

type options struct {
	from     environment.Flags
	timeout  target.Timeout
	skip     []string
	yes      bool
	progress string
	format   string
}

// New returns the command.
func New(streams ui.Streams) *cobra.Command {
	o := options{progress: "auto", format: "table"}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Make the environment as its file says",
		Long: `Checks the environment against its cloud, shows the plan, asks, and makes it so.
It can be run again at any time: what is as it should be is left alone, what a
killed run had made is taken over, and a lost state is found again by the marks
of things in the cloud. While the seed is shelved nothing is changed.

Ctrl-C ends it within ten seconds with exit code 130; run it again to go on.
So does --timeout, with exit code 5; it tells what was waited for, and its cause.`,
		Example: `  slipway up
  slipway up --yes --progress json 2>events.jsonl
  slipway up --yes --timeout 90m
  slipway up -f base.yaml -f prod.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.timeout.Run(cmd.Context(), func(ctx context.Context) error { return o.run(ctx, streams) })
		},
	}
	o.from.Add(cmd.Flags())
	o.timeout.Add(cmd.Flags())
	cmd.Flags().StringSliceVar(&o.skip, "skip-check", nil, "ids of preflight checks to leave out")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	ui.ProgressFlag(cmd.Flags(), &o.progress)
	ui.FormatFlag(cmd.Flags(), &o.format)
	return cmd
}

// result is what up prints as data.
type result struct {
	Environment string        `json:"environment"`
	Report      engine.Report `json:"report"`
	Seconds     float64       `json:"seconds"`
	// Kubeconfigs are the files that were written.
	Kubeconfigs target.Kubeconfigs `json:"kubeconfigs"`
	// Magnum is the Magnum-compatible API, if there is one.
	Magnum target.Magnum `json:"magnum,omitzero"`
}

func (o options) run(ctx context.Context, streams ui.Streams) error {
	start := time.Now()
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
	program, checked, err := t.Program(ctx, o.skip)
	if err != nil {
		return err
	}
	warn(streams, checked)
	if err := awake(ctx, t, program); err != nil {
		return err
	}
	if !o.yes {
		if err := o.ask(ctx, streams, t, program); err != nil {
			return err
		}
	}
	report, err := t.Engine.Up(ctx, program.Program)
	finish()
	if err != nil {
		return err
	}
	paths, err := t.WriteKubeconfigs(ctx)
	if err != nil {
		return err
	}
	magnum, err := t.WriteMagnum(ctx)
	if err != nil {
		return err
	}
	if o.format != "table" {
		return ui.Output(streams.Out, o.format, result{t.Name(), report, time.Since(start).Seconds(), paths, magnum}, ui.Table{})
	}
	target.WriteReport(streams.Out, report)
	fmt.Fprintf(streams.Out, "%s is up (%s)\n", t.Name(), ui.Duration(time.Since(start)))
	fmt.Fprintf(streams.Out, "KUBECONFIG=%s kubectl get nodes\n", cmp.Or(paths.Management, paths.Seed))
	if magnum.URL != "" {
		fmt.Fprintf(streams.Out, "Magnum API: %s\n%sopenstack --os-cloud %s coe cluster template list\n", magnum.URL, trusting(magnum), t.Cloud.Name)
	}
	return nil
}

// trusting sets the variable by which OpenStack's clients trust the API.
func trusting(m target.Magnum) string {
	if m.CAFile == "" {
		return ""
	}
	return "OS_CACERT=" + m.CAFile + " "
}

// warn prints what preflight has to say besides refusals.
func warn(streams ui.Streams, checked preflight.Result) {
	for _, f := range checked.Findings {
		if f.Level == preflight.Warning {
			fmt.Fprintf(streams.Err, "warning: %s: %s\n", f.Object, f.Cause)
		}
	}
}

// awake refuses changes while the seed is shelved. It is not woken on the way:
// somebody shelved it on purpose, and the cloud may have no room for it now.
func awake(ctx context.Context, t *target.Target, program stacks.Environment) error {
	shelved, err := t.Shelved(ctx)
	if err != nil || !shelved {
		return err
	}
	plan, err := t.Engine.Preview(ctx, program.Program)
	if err != nil || plan.Empty() {
		return err
	}
	return t.ErrShelved()
}

// ask shows the plan; nothing to do needs no answer.
func (o options) ask(ctx context.Context, streams ui.Streams, t *target.Target, program stacks.Environment) error {
	plan, err := t.Engine.Preview(ctx, program.Program)
	if err != nil || plan.Empty() {
		return err
	}
	target.WritePlan(streams.Err, plan)
	return target.Confirm(streams, "make these changes?")
}
