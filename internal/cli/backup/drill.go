package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/record"
	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/cli/vault"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/throwaway"
	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/recovery/drill"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks"
)

type drillOptions struct {
	from             vault.Flags
	identities       []string
	record           bool
	ifDue            bool
	format, progress string
}

func newDrill(streams ui.Streams) *cobra.Command {
	o := drillOptions{format: "table", progress: "auto"}
	cmd := &cobra.Command{
		Use:   "drill [ID]",
		Short: "Restore a backup into a throw-away API server, and prove it",
		Long: `Starts the bundle's k3s on this machine, as an API server without nodes and controllers of
Cluster API; restores a backup into it, the newest if you name none; and runs the proofs of
slipway recover that need no cloud. Then it removes the API server. No cloud is contacted,
but for the backup itself and to note the result.

The result is noted on the management cluster, where slipway status shows it, and which
makes a metric and an event of it. You need no root, but a kernel that permits user
namespaces.

With --if-due it does nothing before the next drill is due by spec.backup.drill: let a timer
run it every hour. One that failed is due again.

Exit codes: 0 the backup can be restored; 1 it cannot, and the error names the object.`,
		Example: `  slipway backup drill --identity backup-key.txt
  slipway backup drill 20261124t --identity backup-key.txt -o json
  slipway backup drill --identity backup-key.txt --if-due
  slipway backup drill --identity backup-key.txt --record=false`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), streams, args) },
	}
	o.from.Add(cmd.Flags())
	cmd.Flags().StringArrayVar(&o.identities, "identity", nil, "file of age-keygen with a private key; can be repeated (default: $SLIPWAY_AGE_KEY_FILE)")
	cmd.Flags().BoolVar(&o.record, "record", true, "note the result on the management cluster")
	cmd.Flags().BoolVar(&o.ifDue, "if-due", false, "do nothing unless a drill is due by spec.backup.drill")
	ui.FormatFlag(cmd.Flags(), &o.format)
	ui.ProgressFlag(cmd.Flags(), &o.progress)
	return cmd
}

// drilled is what drill prints as data.
type drilled struct {
	Backup string    `json:"backup"`
	Taken  time.Time `json:"taken"`
	Passed bool      `json:"passed"`
	drill.Result
	// RTO is the time of all parts but the rebuild of servers, in seconds.
	RTO float64 `json:"rtoSeconds"`
	// Error is what kept the drill from its proofs.
	Error string `json:"error,omitempty"`
	// NotDueBefore is when the next one is due, if there was none: all else is then of the
	// last.
	NotDueBefore time.Time `json:"notDueBefore,omitzero"`
}

func (o drillOptions) run(ctx context.Context, streams ui.Streams, args []string) error {
	paths := o.identities
	if path := os.Getenv("SLIPWAY_AGE_KEY_FILE"); len(paths) == 0 && path != "" {
		paths = []string{path}
	}
	if len(paths) == 0 {
		return fault.Usage("--identity", errors.New("no private age key is named"), "give the file of the key that spec.backup.recipients names the public part of")
	}
	loaded, err := o.from.Load()
	if err != nil {
		return err
	}
	k3s := filepath.Join(string(loaded.Environment.Spec.Bundle), "bin", "k3s")
	if _, err := os.Stat(k3s); err != nil {
		return fault.Usage("bundle "+string(loaded.Environment.Spec.Bundle), err, "name a bundle with k3s in spec.bundle")
	}
	progress, err := ui.NewProgress(o.progress, streams)
	if err != nil {
		return fault.Usage("--progress", err, "")
	}
	defer progress.Close()
	removeDrills(os.TempDir(), time.Now())
	if o.ifDue {
		last, next, err := due(ctx, loaded, time.Now())
		if err != nil {
			return err
		}
		if !next.IsZero() {
			progress.Close()
			return o.notYet(streams, last, next)
		}
	}
	d := drilled{}
	began := time.Now()
	s, err := o.read(ctx, loaded, paths, argument(args), &d, progress)
	if backup.IsDamaged(err) && o.record { // it cannot be restored, which is what a drill is to find
		d.Error = err.Error()
		note(ctx, loaded, d, progress)
	}
	if err != nil {
		return err
	}
	failed := d.practise(ctx, s, k3s, loaded, progress)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	d.RTO, d.Passed = time.Since(began).Seconds(), failed == nil && d.Err() == nil
	if failed != nil {
		d.Error = failed.Error()
	}
	if o.record {
		note(ctx, loaded, d, progress)
	}
	progress.Close()
	return errors.Join(failed, d.Err(), ui.Output(streams.Out, o.format, d, d.table()))
}

// notYet prints the last drill and when the next one is due.
func (o drillOptions) notYet(streams ui.Streams, last record.Drill, next time.Time) error {
	d := drilled{Backup: last.Backup, Passed: last.Passed, RTO: last.Seconds, Result: drill.Result{Clusters: []string{}, Checks: []recovery.Check{}, Parts: []drill.Part{}}, NotDueBefore: next}
	return ui.Output(streams.Out, o.format, d, ui.Table{Header: []string{"BACKUP", "PASSED", "NEXT DRILL"},
		Rows: [][]string{{last.Backup, last.LastPassed.Local().Format(time.DateTime), next.Local().Format(time.DateTime)}}})
}

// read reads and decrypts the backup.
func (o drillOptions) read(ctx context.Context, loaded *config.Loaded, paths []string, id string, d *drilled, events event.Sink) (*snapshot.Snapshot, error) {
	identities, err := vault.Identities(paths)
	if err != nil {
		return nil, err
	}
	step := event.Start(events, "read", "reading the backup")
	began := time.Now()
	s, err := func() (*snapshot.Snapshot, error) {
		both, err := openIn(ctx, loaded, o.from.Target)
		if err != nil {
			return nil, err
		}
		of, b, err := both.find(ctx, id)
		if err == nil && of == ofSeed {
			err = fault.Usage("backup "+b.ID, errors.New("it has the datastore of the seed alone, and no objects to restore"), "name one of the management cluster; slipway backup verify --identity reads this one")
		}
		if err != nil {
			return nil, err
		}
		d.Backup, d.Taken = b.ID, b.Taken
		return both.management.Read(ctx, b.ID, identities...)
	}()
	step.End(d.Backup, err)
	d.Parts = append(d.Parts, drill.Part{Name: "read", Seconds: time.Since(began).Seconds()})
	return s, err
}

// practise starts an API server, restores and proves.
func (d *drilled) practise(ctx context.Context, s *snapshot.Snapshot, k3s string, loaded *config.Loaded, events event.Sink) error {
	dir, leave, err := drillFolder(os.TempDir())
	if err != nil {
		return fmt.Errorf("folder of the drill: %w", err)
	}
	defer leave()
	step := event.Start(events, "server", "starting a throw-away API server")
	began := time.Now()
	server, stop, err := throwaway.Start(ctx, k3s, dir, os.Environ())
	if err != nil {
		err = fault.New("API server of the drill", err, "see what k3s said; who is not root needs user namespaces (sysctl kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)")
	}
	step.End("it is ready", err)
	if err != nil {
		return err
	}
	defer stop()
	d.Parts = append(d.Parts, drill.Part{Name: "server", Seconds: time.Since(began).Seconds()})
	on, err := kube.New(server.Config)
	if err != nil {
		return err
	}
	step = event.Start(events, "drill", "restoring and proving")
	r, err := drill.Drill{Snapshot: s, Own: stacks.ManagementNamespace + "/" + loaded.Environment.Metadata.Name,
		Progress: func(what string, n, total int) { step.Count(int64(n), int64(total), what) }}.Run(ctx, on)
	step.End(fmt.Sprintf("%d objects, %d checks", r.Objects, len(r.Checks)), err)
	r.Parts = append(d.Parts, r.Parts...)
	d.Result = r
	return err
}

// table shows the checks with what they found, then the times.
func (d drilled) table() ui.Table {
	t := ui.Table{Header: []string{"CHECK", "STATE", "OBJECTS", "WHAT"}}
	for _, c := range d.Checks {
		t.Rows = append(t.Rows, []string{c.ID, string(c.State), fmt.Sprint(c.Checked), c.Claim})
		for _, f := range c.Findings {
			t.Rows = append(t.Rows, []string{"", "", "", f.Object + ": " + f.Cause})
		}
	}
	t.Footer = []string{"", fmt.Sprintf("backup %s of %s: %d objects, %d clusters", d.Backup, d.Taken.UTC().Format(time.RFC3339), d.Objects, len(d.Clusters))}
	for _, p := range d.Parts {
		t.Footer = append(t.Footer, fmt.Sprintf("  %-10s %.1f s", p.Name, p.Seconds))
	}
	verdict := "it can be restored"
	if !d.Passed {
		verdict = "it cannot be restored as it is"
	}
	t.Footer = append(t.Footer, fmt.Sprintf("RTO %.1f s, without the time for servers", d.RTO), verdict)
	return t
}
