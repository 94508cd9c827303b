package recover

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/cause/look"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/recovery/undo"
	"github.com/slipway-sh/slipway/internal/ui"
)

// NewUndo returns the command slipway undo; source reads backups.
func NewUndo(streams ui.Streams, source Source) *cobra.Command {
	o := options{progress: "auto", format: "table", watch: recovery.UsualWatch}
	cmd := &cobra.Command{
		Use:   "undo",
		Short: "Take the controllers back to what they were before the last upgrade",
		Long: `Restores the controllers of the management cluster, with their definitions, webhooks and
rights, from the backup that slipway up made before it changed them, as one set. It needs
no former Slipway and no former bundle, but nodes must be able to pull the former images.

It says first what it will do and what cannot be undone, and asks. Then it

  1. pause        pauses all clusters
  2. controllers  applies what was applied before, and removes what came with the upgrade
  3. restore      brings back clusters that are gone and whose servers all run
  4. prove        compares objects and cloud: the controllers must have nothing to do
  5. unpause      one cluster, then 10 %, then the rest, and watches the cloud meanwhile
  6. state        notes the former versions, so that slipway up would upgrade again

Objects of workload clusters stay as they are now: what their owners did since the upgrade
is theirs. Kubernetes and the machines stay too, as Kubernetes cannot be downgraded.

It is possible for the time of spec.backup.undoWindow, 72h unless the file says otherwise.
If it is interrupted, run it again: it continues. If all is undone, it does nothing.

Exit codes: 0 all is undone and proved; 2 there is nothing that can be undone, and nothing
was changed; 4 it is half done and clusters are paused: fix the cause and run it again.`,
		Example: `  slipway undo --dry-run --identity backup-key.txt
  slipway undo --identity backup-key.txt
  slipway undo --yes --identity backup-key.txt -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.timeout.Run(cmd.Context(), func(ctx context.Context) error { return o.undo(ctx, streams, source) })
		},
	}
	flags := cmd.Flags()
	o.environment.Add(flags)
	o.timeout.Add(flags)
	flags.StringVar(&o.url, "from", "", "where the backups are: file://…, swift://… or s3://… (default: spec.backup.target)")
	flags.StringVarP(&o.identity, "identity", "i", "", "file of the private age key (default: $SLIPWAY_AGE_KEY_FILE)")
	flags.StringSliceVar(&o.leave, "leave", nil, "leave these clusters (namespace/name) paused: their failed checks stop nobody else")
	flags.DurationVar(&o.watch, "watch", o.watch, "how long the cloud is watched at least after each wave")
	flags.BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	flags.BoolVar(&o.dry, "dry-run", false, "say what would be done and what cannot be undone, and change nothing")
	ui.ProgressFlag(flags, &o.progress)
	ui.FormatFlag(flags, &o.format)
	return cmd
}

// undoResult is what undo prints as data.
type undoResult struct {
	Environment string    `json:"environment"`
	Backup      string    `json:"backup"`
	Taken       time.Time `json:"taken"`
	Until       time.Time `json:"until"`
	DryRun      bool      `json:"dryRun,omitempty"`
	// Controllers are what becomes of them.
	Controllers *undo.Plan `json:"controllers,omitempty"`
	// Clusters are the workload clusters that are paused meanwhile. Restored are gone now
	// and come back, because their servers run; Deleted are gone with their servers, and
	// Made are of after the backup: these stay as they are.
	Clusters []string `json:"clusters"`
	Restored []string `json:"restored"`
	Deleted  []string `json:"deleted"`
	Made     []string `json:"made"`
	// Busy are changing now: they are unpaused last, and nobody watches what becomes of them.
	Busy []string `json:"busy"`
	// Stays is what cannot be undone.
	Stays   []string         `json:"cannotBeUndone"`
	Checks  []recovery.Check `json:"checks"`
	Waves   []recovery.Wave  `json:"waves"`
	Parts   []Part           `json:"parts"`
	Seconds float64          `json:"seconds"`
	// Nothing says that the controllers are what they were and nothing is paused.
	Nothing bool `json:"nothing,omitempty"`
	// Undone is when all was done.
	Undone time.Time `json:"undone,omitzero"`
}

// reversal is one run of undo. The rebuild in it is of what is there now, and has what
// proves and releases it.
type reversal struct {
	*rebuild
	on     *kube.Cluster
	point  undo.Point
	former *snapshot.Snapshot
	back   *undo.Plan
	// lost are the plans of clusters that come back.
	lost    []*recovery.Plan
	leave   []string // what the flags say
	closing func()
	result  undoResult
}

func (o options) undo(ctx context.Context, streams ui.Streams, source Source) error {
	began := time.Now()
	wanted, err := o.wanted()
	if err != nil {
		return err
	}
	progress, err := ui.NewProgress(o.progress, streams)
	if err != nil {
		return err
	}
	finish := sync.OnceFunc(func() { progress.Close() })
	defer finish()
	r := &reversal{rebuild: &rebuild{options: o, progress: progress, clouds: look.NewCache(time.Now).Every(cloudEvery)}, leave: o.leave}
	r.rebuild.leave = nil
	if r.t, err = target.Open(ctx, o.environment, progress); err != nil {
		return err
	}
	leave, err := r.decide(ctx, source, wanted, began)
	defer leave()
	if err != nil {
		return err
	}
	if o.dry || !r.point.Undone.IsZero() || r.result.Nothing {
		finish()
		r.result.DryRun = o.dry
		return ui.Output(streams.Out, o.format, r.result, r.result.table())
	}
	if err := r.ask(ctx, streams, finish); err != nil {
		return err
	}
	failed := partly(r.do(ctx))
	r.progressEnds(finish)
	r.result.Checks, r.result.Waves, r.result.Parts = orEmpty(r.rebuild.result.Checks), orEmpty(r.rebuild.result.Waves), orEmpty(r.rebuild.result.Parts)
	r.result.Undone, r.result.Seconds = r.point.Undone, time.Since(began).Seconds()
	return errors.Join(failed, ui.Output(streams.Out, o.format, r.result, r.result.table()))
}

// ask says what is about to be done, and asks unless --yes is given. What it says is part of
// the progress then.
func (r *reversal) ask(ctx context.Context, streams ui.Streams, finish func()) error {
	lines := r.result.lines()
	if r.yes {
		for _, line := range lines {
			r.progress.Emit(event.Event{Time: time.Now(), State: event.Note, Message: line})
		}
		return nil
	}
	finish()
	for _, line := range lines {
		fmt.Fprintln(streams.Err, line)
	}
	if err := target.Confirm(ctx, streams, "undo this upgrade?"); err != nil {
		return err
	}
	progress, err := ui.NewProgress(r.rebuild.options.progress, streams)
	if err != nil {
		return err
	}
	r.progress, r.closing = progress, func() { progress.Close() }
	return nil
}

func (r *reversal) progressEnds(finish func()) {
	finish()
	if r.closing != nil {
		r.closing()
	}
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// errNothingApplied is that of a backup that another Slipway made, or one without it.
func errNothingApplied(id string) error {
	return fault.Usage("backup "+id, errors.New("it does not have what slipway up had applied"), "go forward with slipway up; slipway recover can rebuild the management cluster from it")
}
