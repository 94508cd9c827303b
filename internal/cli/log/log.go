// Package log is `slipway log`: who ran what, and what it changed.
package log

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/runlog"
	"github.com/slipway-sh/slipway/internal/ui"
)

type options struct {
	from   environment.Flags
	most   int
	format string
}

// New returns the command.
func New(streams ui.Streams) *cobra.Command {
	o := options{most: 20, format: "table"}
	cmd := &cobra.Command{
		Use:   "log [RUN]",
		Short: "Show who ran what, and what it changed",
		Long: `Shows the runs of commands that change the environment, its clusters or its state, or
hand out what opens them: who ran which command, with the digests of which files, when,
how it ended, and what it changed. With the ID of a run it shows that one with its events.

The log is beside the state, so it is the same from every machine that works on the
environment. A run that was killed is shown as interrupted. The newest 500 runs are kept,
with the events of the newest 50.`,
		Example: `  slipway log
  slipway log 20260102T080300.000Z-k3x7qa
  slipway log -o json | jq '.runs[] | select(.outcome != "succeeded")'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := ""
			if len(args) > 0 {
				id = args[0]
			}
			return o.run(cmd.Context(), streams, id)
		},
	}
	o.from.Add(cmd.Flags())
	cmd.Flags().IntVar(&o.most, "last", o.most, "number of runs to show, the newest first; 0 means all")
	ui.FormatFlag(cmd.Flags(), &o.format)
	return cmd
}

// result is what the command prints. With a run it has that one and its events.
type result struct {
	Environment string          `json:"environment"`
	Runs        []runlog.Record `json:"runs"`
	Events      []event.Event   `json:"events,omitempty"`
}

func (o options) run(ctx context.Context, streams ui.Streams, id string) error {
	if o.most < 0 {
		return fault.Usage("--last", fmt.Errorf("%d is negative", o.most), "give a number of runs, or 0 for all")
	}
	loaded, err := o.from.Load()
	if err != nil {
		return err
	}
	store, leave, err := runlog.Open(ctx, loaded.LogURL())
	if err != nil {
		return fault.New("log of "+loaded.Environment.Metadata.Name, err, "check spec.state.backend and its login")
	}
	defer leave()
	most := o.most
	if id != "" {
		most = 0
	}
	r := result{Environment: loaded.Environment.Metadata.Name}
	r.Runs, err = runlog.List(ctx, store, r.Environment, most)
	if err != nil && len(r.Runs) == 0 {
		return fault.New("log of "+r.Environment, err, "check spec.state.backend and its login")
	}
	if err != nil {
		fmt.Fprintf(streams.Err, "warning: %v\n", err)
	}
	now := time.Now()
	for i := range r.Runs {
		r.Runs[i].Outcome = r.Runs[i].Now(now)
	}
	if id == "" {
		return ui.Output(streams.Out, o.format, r, r.table())
	}
	if r.Runs = slices.DeleteFunc(r.Runs, func(one runlog.Record) bool { return one.ID != id }); len(r.Runs) == 0 {
		return fault.Usage(id, errors.New("there is no run of this ID"), "list the runs with slipway log --last 0")
	}
	for line := range strings.Lines(string(runlog.Events(ctx, store, r.Environment, id))) {
		var e event.Event
		if json.Unmarshal([]byte(line), &e) == nil {
			r.Events = append(r.Events, e)
		}
	}
	return ui.Output(streams.Out, o.format, r, r.details())
}

func (r result) table() ui.Table {
	t := ui.Table{Header: []string{"RUN", "STARTED", "BY", "RESULT", "TOOK", "CHANGED", "COMMAND"}}
	for _, one := range r.Runs {
		t.Rows = append(t.Rows, []string{one.ID, one.Started.Local().Format(time.DateTime), by(one), string(one.Outcome), took(one), fmt.Sprint(len(one.Changed)), one.Command})
	}
	if len(r.Runs) == 0 {
		t.Footer = append(t.Footer, "no command has changed environment "+r.Environment+" yet")
	}
	return t
}

func by(r runlog.Record) string { return cmp.Or(r.User, "?") + "@" + cmp.Or(r.Host, "?") }

func took(r runlog.Record) string {
	if r.Ended.IsZero() {
		return "-"
	}
	return ui.Duration(r.Ended.Sub(r.Started))
}

// details are the lines about one run.
func (r result) details() ui.Table {
	one := r.Runs[0]
	t := ui.Table{Header: []string{"RUN", one.ID}, Rows: [][]string{{"command", one.Command}, {"by", fmt.Sprintf("%s (process %d)", by(one), one.PID)}, {"version", one.Version}, {"cloud", one.Cloud},
		{"started", one.Started.Local().Format(time.DateTime)}, {"took", took(one)}, {"result", fmt.Sprintf("%s (exit code %d)", one.Outcome, one.Exit)}}}
	for _, f := range one.Files {
		t.Rows = append(t.Rows, []string{"file", f.Name + " sha256:" + f.SHA256})
	}
	if one.Error != "" {
		t.Rows = append(t.Rows, []string{"error", one.Error})
	}
	for _, changed := range one.Changed {
		t.Rows = append(t.Rows, []string{"changed", changed})
	}
	for _, e := range r.Events {
		if e.State == event.Failed || e.State == event.Done || e.State == event.Note {
			t.Footer = append(t.Footer, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", e.Time.Local().Format(time.TimeOnly), e.Step, cmp.Or(e.Message, string(e.State)), e.Error)))
		}
	}
	return t
}
