package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/alerts"
	"github.com/slipway-sh/slipway/internal/check"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// alertOptions are those of `slipway check alerts`.
type alertOptions struct {
	from     environment.Flags
	timeout  time.Duration
	severity []string
	pending  bool
	junit    string
	format   string
}

func newAlerts(streams ui.Streams) *cobra.Command {
	o := alertOptions{format: "table"}
	cmd := &cobra.Command{
		Use:   "alerts",
		Short: "Show the alerts of the management cluster, and fail if one fires",
		Long: `Asks Prometheus and Alertmanager on the management cluster, or on the seed if the
environment has none, which alerts there are: those of spec.monitoring, or of
kube-prometheus-stack in monitoring-system.

The exit code is 0 only if nothing fires but Watchdog, which always does where alerts are
evaluated and delivered; without it the check fails. With --timeout it looks again until
that is so, or the time is over. Alerts that are silenced or only pending do not count.`,
		Example: `  slipway check alerts
  slipway check alerts --timeout 10m --pending
  slipway check alerts --severity critical -o json --junit alerts.xml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams) },
	}
	flags := cmd.Flags()
	o.from.Add(flags)
	flags.DurationVar(&o.timeout, "timeout", 0, "how long to wait until nothing fires (default: look once)")
	flags.StringSliceVar(&o.severity, "severity", nil, "severities that count, such as critical (default: all)")
	flags.BoolVar(&o.pending, "pending", false, "count alerts too that will fire if nothing changes")
	flags.StringVar(&o.junit, "junit", "", "file to write the result to, as JUnit's XML")
	ui.FormatFlag(flags, &o.format)
	return cmd
}

func (o alertOptions) run(ctx context.Context, streams ui.Streams) error {
	if o.timeout < 0 {
		return fault.Usage("--timeout", errors.New("it is negative"), "give a duration such as 10m")
	}
	on, loaded, leave, err := target.OpenMonitored(ctx, o.from)
	if err != nil {
		return err
	}
	defer leave()
	return o.look(ctx, streams, alerts.On(on), loaded.Environment.Metadata.Name)
}

// lookAgain is the time between two looks, answerTime how long one may take.
const (
	lookAgain  = 5 * time.Second
	answerTime = time.Minute
)

// errSilent is a look that took too long.
var errSilent = errors.New("no answer in time")

// look looks until nothing fires, or the time is over, and shows the last look that was answered.
func (o alertOptions) look(ctx context.Context, streams ui.Streams, on alerts.Access, name string) error {
	begun := time.Now().UTC()
	end := begun.Add(o.timeout)
	var found []alerts.Alert
	var problem error
	for first := true; ; first = false {
		now, err := o.once(ctx, on, end)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		over := !time.Now().Before(end)
		if first || !over || !errors.Is(err, errSilent) {
			found, problem = now, err
		}
		bad := o.counted(found)
		if over || errors.Is(problem, alerts.ErrAbsent) || problem == nil && len(bad) == 0 {
			return o.tell(streams, name, begun, found, bad, problem)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(lookAgain, time.Until(end))):
		}
	}
}

// once looks once, and no longer than --timeout allows.
func (o alertOptions) once(ctx context.Context, on alerts.Access, end time.Time) ([]alerts.Alert, error) {
	limit := time.Now().Add(answerTime)
	if o.timeout > 0 && end.Before(limit) {
		limit = end
	}
	ctx, cancel := context.WithDeadline(ctx, limit)
	defer cancel()
	found, err := on.Look(ctx)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", errSilent, err)
	}
	return found, err
}

// counted are the alerts that the check fails by.
func (o alertOptions) counted(all []alerts.Alert) (bad []alerts.Alert) {
	for _, a := range all {
		state := a.State == alerts.Firing || o.pending && a.State == alerts.Pending
		if state && !a.Expected() && (len(o.severity) == 0 || slices.Contains(o.severity, a.Severity)) {
			bad = append(bad, a)
		}
	}
	return bad
}

// shownAlerts are the alerts as JSON.
type shownAlerts struct {
	Environment string         `json:"environment"`
	Passed      bool           `json:"passed"`
	Problem     string         `json:"problem,omitempty"`
	Alerts      []alerts.Alert `json:"alerts"`
}

// tell shows the alerts, also if some cannot be trusted, and judges them.
func (o alertOptions) tell(streams ui.Streams, name string, begun time.Time, found, bad []alerts.Alert, problem error) error {
	if found == nil && problem != nil {
		return errors.Join(fault.New("alerts of "+name, problem, "install them by spec.monitoring (docs/operations/monitoring.md), or see kubectl -n monitoring-system get pods"),
			o.write(name, begun, nil, problem))
	}
	shown := shownAlerts{Environment: name, Passed: problem == nil && len(bad) == 0, Alerts: found}
	if problem != nil {
		shown.Problem = problem.Error()
	}
	unwritten := o.write(name, begun, bad, problem)
	if err := ui.Output(streams.Out, o.format, shown, alertTable(found)); err != nil {
		return errors.Join(err, unwritten)
	}
	return errors.Join(alertVerdict(name, bad, problem), unwritten)
}

// alertVerdict is nil if nothing fires, and alerts can be trusted.
func alertVerdict(name string, bad []alerts.Alert, problem error) error {
	if problem != nil {
		return fault.New("alerts of "+name, problem, "see kubectl -n monitoring-system get pods, and the log of deploy/prometheus")
	}
	if len(bad) == 0 {
		return nil
	}
	var names []string
	for _, a := range bad {
		names = append(names, a.Name)
	}
	return fault.New("environment "+name, fmt.Errorf("%d of its alerts fire: %s", len(bad), strings.Join(slices.Compact(names), ", ")), "docs/operations/alerts.md says what to do, by the alert's name")
}

// write writes JUnit's file: a case for Watchdog, and one for each alert that counts.
func (o alertOptions) write(name string, begun time.Time, bad []alerts.Alert, problem error) error {
	watchdog := check.Step{Name: alerts.Watchdog, State: check.Passed, Detail: "alerts are evaluated and delivered"}
	if problem != nil {
		watchdog.State, watchdog.Detail = check.Failed, problem.Error()
	}
	result := check.Result{Check: "alerts", Cluster: name, Begun: begun, Seconds: time.Since(begun).Seconds(), Passed: problem == nil && len(bad) == 0, Steps: []check.Step{watchdog}}
	for _, a := range bad {
		result.Steps = append(result.Steps, check.Step{Name: a.Name + " " + about(a), State: check.Failed, Detail: a.Summary + " since " + a.Since.UTC().Format(time.RFC3339)})
	}
	return options{junit: o.junit}.write(result)
}

func alertTable(all []alerts.Alert) ui.Table {
	t := ui.Table{Header: []string{"ALERT", "STATE", "SEVERITY", "SINCE", "ABOUT", "SUMMARY"}, Fit: ui.Terminal}
	for _, a := range all {
		t.Rows = append(t.Rows, []string{a.Name, a.State, a.Severity, ui.Duration(time.Since(a.Since).Truncate(time.Second)), about(a), a.Summary})
	}
	return t
}

// about are the labels that tell one alert of a name from another.
func about(a alerts.Alert) string {
	var parts []string
	for _, label := range []string{"cluster", "namespace", "deployment", "pod", "name", "node", "mountpoint", "persistentvolumeclaim", "job", "reason", "integration"} {
		if value := a.Labels[label]; value != "" {
			parts = append(parts, value)
		}
	}
	return strings.Join(parts, "/")
}
