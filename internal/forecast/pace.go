package forecast

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/event"
)

// The event by which a run of up says how many machines it replaces, so that later runs
// know from the log what that took.
const (
	Step = "forecast"
	unit = "machines"
)

// usualPace is what one machine takes where no former run is known: four machines, one after
// the other, took nine minutes on two cores (make upgrade-test).
const usualPace = 135 * time.Second

// Told is the event for the log of this run.
func (f Forecast) Told(now time.Time) event.Event {
	own, tenants := f.Replaced()
	return event.Event{Time: now, Step: Step, State: event.Note, Message: fmt.Sprintf("%d machines of the management cluster and %d of workload clusters are replaced", own, tenants), Total: int64(own + tenants), Unit: unit}
}

// Run is a run of the log with its events, as one JSON object per line.
type Run struct {
	ID     string
	Events []byte
}

// Pace is how long one machine took in a run that replaced some; false if it replaced none,
// or was not completed. steps are those that wait for machines.
func Pace(run Run, steps ...string) (time.Duration, bool) {
	var took time.Duration
	machines := int64(0)
	done := 0
	for line := range strings.Lines(string(run.Events)) {
		var e event.Event
		if json.Unmarshal([]byte(line), &e) != nil {
			continue
		}
		if e.Step == Step && e.Unit == unit {
			machines = e.Total
		}
		for _, step := range steps {
			if e.Step == step && e.State == event.Done && e.Message == "changed" && !e.Since.IsZero() {
				took += e.Time.Sub(e.Since)
				done++
			}
		}
	}
	if machines <= 0 || done < len(steps) || took <= 0 {
		return 0, false
	}
	return took / time.Duration(machines), true
}

// Take is how long the replacement of so many machines takes, by the newest of runs, the
// newest first, that replaced any; else it is an estimate.
func Take(machines int, runs []Run, steps ...string) Duration {
	if machines == 0 {
		return Duration{Basis: "no machine is replaced"}
	}
	for _, run := range runs {
		if pace, ok := Pace(run, steps...); ok {
			return Duration{Seconds: (pace * time.Duration(machines)).Seconds(), Run: run.ID, Basis: fmt.Sprintf("a machine took %s in run %s", pace.Round(time.Second), run.ID)}
		}
	}
	return Duration{Seconds: (usualPace * time.Duration(machines)).Seconds(),
		Basis: fmt.Sprintf("an estimate of %s for each machine, because no former run in the log replaced any", usualPace)}
}
