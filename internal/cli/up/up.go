// Package up is `slipway up`.
package up

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/forecast"
	"github.com/slipway-sh/slipway/internal/preflight"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// Backup makes a backup of the management cluster of an environment that is kept until a
// time, and returns it.
type Backup func(ctx context.Context, from environment.Flags, until time.Time, events event.Sink) (backup.Backup, error)

type options struct {
	backup     Backup
	skipBackup bool
	from       environment.Flags
	timeout    target.Timeout
	skip       []string
	yes        bool
	progress   string
	format     string
}

// New returns the command.
func New(streams ui.Streams, before Backup) *cobra.Command {
	o := options{backup: before, progress: "auto", format: "table"}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Create the environment, or update it to match its file",
		Long: `Runs the preflight checks, shows the plan, asks for confirmation, and applies the plan.
You can run it again at any time: it leaves correct resources alone and adopts what a
killed run created. If the state is lost, it finds the environment's resources by their
ownership tags. While the seed is shelved it changes nothing.

If a management cluster is there, it says first what the changes replace and roughly for
how long, as slipway plan does.

If the file has spec.backup, it makes a backup before it changes controllers or Kubernetes
of a management cluster that is there, and slipway undo can go back to it. --skip-backup
leaves it out.

Ctrl-C ends it within ten seconds with exit code 130; run it again to resume. --timeout
ends it with exit code 5, and the error names what it was waiting for and the cause.`,
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
	cmd.Flags().StringSliceVar(&o.skip, "skip-check", nil, "ids of preflight checks to skip")
	cmd.Flags().BoolVar(&o.skipBackup, "skip-backup", false, "make no backup before controllers or Kubernetes are changed")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
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
	// Backup is the id of the backup that was made first; empty if none was needed.
	Backup string `json:"backup,omitempty"`
	// Forecast is what was said before the change; nil if no management cluster was there.
	Forecast *forecast.Forecast `json:"forecast,omitempty"`
	// Magnum is the Magnum-compatible API, if the environment has one.
	Magnum target.Service `json:"magnum,omitzero"`
	// Console is the console for tenants, if the environment has one.
	Console target.Service `json:"console,omitzero"`
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
	if err := settled(ctx, t); err != nil {
		return err
	}
	plan, err := o.preview(ctx, t, program, checked)
	if err != nil {
		return err
	}
	foreseen, err := t.Forecast(ctx, program, plan, checked.Quota)
	if err != nil {
		return err
	}
	if err := target.Fits(foreseen, o.skip); err != nil {
		return err
	}
	if err := o.ask(ctx, streams, plan, foreseen); err != nil {
		return err
	}
	o.tell(progress, foreseen)
	r := result{Environment: t.Name(), Forecast: foreseen}
	if r.Backup, err = o.save(ctx, t, plan, progress); err != nil {
		return err
	}
	r.Report, err = t.Engine.Up(ctx, program.Program)
	defer t.KeepSeed()() // what follows asks the management cluster up to three times
	if err == nil {
		err = complete(ctx, t)
	}
	finish()
	if err != nil {
		return err
	}
	return o.end(ctx, streams, t, r, start)
}

// end writes the files of an environment that is up, and says how to go on.
func (o options) end(ctx context.Context, streams ui.Streams, t *target.Target, r result, start time.Time) (err error) {
	if r.Kubeconfigs, err = t.WriteKubeconfigs(ctx); err != nil {
		return err
	}
	if err := o.store(ctx, t); err != nil {
		return err
	}
	services, err := t.WriteServices(ctx)
	if err != nil {
		return err
	}
	r.Magnum, r.Console = services.Magnum, services.Console
	if o.format != "table" {
		r.Seconds = time.Since(start).Seconds()
		return ui.Output(streams.Out, o.format, r, ui.Table{})
	}
	target.WriteReport(streams.Out, r.Report)
	if err := writeUpgraded(streams.Out, r); err != nil {
		return err
	}
	fmt.Fprintf(streams.Out, "%s is up (%s)\n", t.Name(), ui.Duration(time.Since(start)))
	fmt.Fprintf(streams.Out, "KUBECONFIG=%s kubectl get nodes\n", cmp.Or(r.Kubeconfigs.Management, r.Kubeconfigs.Seed))
	if m := r.Magnum; m.URL != "" {
		fmt.Fprintf(streams.Out, "Magnum API: %s\n%sopenstack --os-cloud %s coe cluster template list\n", m.URL, trusting(m), t.Cloud.Name)
	}
	if c := r.Console; c.URL != "" {
		fmt.Fprintf(streams.Out, "Console for tenants: %s/\n", c.URL)
		if c.CAFile != "" {
			fmt.Fprintf(streams.Out, "Browsers trust it by the CA certificate in %s\n", c.CAFile)
		}
	}
	return nil
}

// store leaves the environment with the management cluster, for its own backups.
func (o options) store(ctx context.Context, t *target.Target) error {
	file, err := target.EnvironmentFile(o.from.Files, o.from.Name != "", t.Loaded)
	if err != nil {
		return err
	}
	return t.StoreEnvironment(ctx, file)
}

// trusting sets the variable that makes OpenStack's clients trust the API.
func trusting(m target.Service) string {
	if m.CAFile == "" {
		return ""
	}
	return "OS_CACERT=" + m.CAFile + " "
}

// warn prints preflight's findings that are not errors.
func warn(streams ui.Streams, checked preflight.Result) {
	for _, f := range checked.Findings {
		if f.Level == preflight.Warning {
			fmt.Fprintf(streams.Err, "warning: %s: %s\n", f.Object, f.Cause)
		}
	}
}

// preview is what would be done. It refuses changes while the seed is shelved, and does not
// wake it: somebody shelved it on purpose, and the cloud may have no capacity for it now.
// Where nothing is to be asked, nothing could be replaced and nothing is shelved, nobody
// needs it, and it is empty.
func (o options) preview(ctx context.Context, t *target.Target, program stacks.Environment, checked preflight.Result) (engine.Plan, error) {
	shelved, err := t.Asleep(ctx, checked)
	if err != nil {
		return engine.Plan{}, err
	}
	if o.yes && !shelved {
		resources, err := t.Engine.Resources(ctx)
		if err != nil || !running(resources) {
			return engine.Plan{}, err
		}
	}
	plan, err := t.Engine.Preview(ctx, program.Program)
	if err == nil && shelved && !plan.Empty() {
		err = t.ErrShelved()
	}
	return plan, err
}

// ask shows the plan and what it replaces, and asks for confirmation, unless there is
// nothing to do.
func (o options) ask(ctx context.Context, streams ui.Streams, plan engine.Plan, foreseen *forecast.Forecast) error {
	if o.yes || plan.Empty() {
		return nil
	}
	target.WritePlan(streams.Err, plan)
	target.WriteForecast(streams.Err, foreseen)
	return target.Confirm(ctx, streams, "make these changes?")
}

// tell writes the forecast to the progress: for who was not asked, and for the log, from
// which later runs know how long it took.
func (o options) tell(progress event.Sink, foreseen *forecast.Forecast) {
	if foreseen == nil {
		return
	}
	for _, line := range foreseen.Lines() {
		if o.yes {
			progress.Emit(event.Event{Time: time.Now(), State: event.Note, Message: line})
		}
	}
	progress.Emit(foreseen.Told(time.Now()))
}
