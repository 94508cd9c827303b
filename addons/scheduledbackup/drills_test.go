package scheduledbackup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slipway-sh/slipway/internal/backup/record"
	"github.com/slipway-sh/slipway/internal/backup/rhythm"
)

// practice is what a watch looks at, and what it told.
type practice struct {
	state record.State
	fail  error
	told  []string
	shown string
}

func (p *practice) watch(due *rhythm.Rhythm) *drillWatch {
	return &drillWatch{due: due,
		load: func(context.Context) (record.State, error) { return p.state, p.fail },
		save: func(_ context.Context, w *record.Watch) error { p.state.Watch = w; return nil },
		show: func(d *record.Drill, late bool) { p.shown = fmt.Sprint(d != nil && d.Passed, late) },
		tell: func(kind, reason, text string) { p.told = append(p.told, kind+" "+reason+": "+text) },
		log:  func(error) {},
	}
}

// TestDrillsAreTold once each, with the object that is wrong; one that is missing is told
// when it is late, also by a process that was not there when it became due.
func TestDrillsAreTold(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	week := rhythm.Every(7 * 24 * time.Hour)
	p := &practice{}
	w := p.watch(&week)
	look := func(w *drillWatch, days float64) {
		t.Helper()
		if err := w.look(t.Context(), start.Add(time.Duration(days*24)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(what, shown string, told ...string) {
		t.Helper()
		if !slices.Equal(p.told, told) || p.shown != shown {
			t.Errorf("%s: told %q, shown %s", what, p.told, p.shown)
		}
		p.told = nil
	}
	look(w, 0)
	expect("nothing yet", "false false")
	if p.state.Watch == nil || !p.state.Watch.Since.Equal(start) || p.state.Watch.Every != 7*86400 {
		t.Errorf("noted %+v", p.state.Watch)
	}
	look(w, 7.5)
	expect("a little late", "false false")
	again := p.watch(&week)
	look(again, 8.5)
	look(again, 8.6)
	expect("late", "false true", "Warning DrillOverdue: no backup was restored for practice in time; run slipway backup drill where the private key is")
	p.state.Drill = &record.Drill{At: start.Add(9 * 24 * time.Hour), Backup: "b1", Failed: []string{"references: OpenStackMachineTemplate a-md: gone"}}
	look(again, 9)
	look(again, 9.1)
	expect("one that failed", "false true", "Warning DrillFailed: backup b1 cannot be restored: references: OpenStackMachineTemplate a-md: gone")
	p.state.Drill = &record.Drill{At: start.Add(10 * 24 * time.Hour), Backup: "b2", Passed: true, Seconds: 42, LastPassed: start.Add(10 * 24 * time.Hour)}
	look(again, 10)
	expect("one that passed", "true false", "Normal DrillPassed: backup b2 was restored for practice in 42 s")
	look(again, 18.5)
	expect("the next is missing", "true true", "Warning DrillOverdue: no backup was restored for practice in time; run slipway backup drill where the private key is")
	look(p.watch(nil), 30)
	if p.state.Watch != nil {
		t.Error("drills that nobody wants any more are late")
	}
	p.fail = errors.New("no answer")
	if err := again.look(t.Context(), start); !errors.Is(err, p.fail) {
		t.Errorf("told %v", err)
	}
}

// TestDrillsAreMeasured by metrics of their names.
func TestDrillsAreMeasured(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	show, err := drillMeters(registry)
	if err != nil {
		t.Fatal(err)
	}
	show(&record.Drill{LastPassed: time.Unix(1000, 0)}, true)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		got[f.GetName()] = f.GetMetric()[0].GetGauge().GetValue()
	}
	if got["slipway_backup_drill_last_passed_timestamp_seconds"] != 1000 || got["slipway_backup_drill_failed"] != 1 || got["slipway_backup_drill_overdue"] != 1 || len(got) != 3 {
		t.Errorf("measured %v", got)
	}
}

// TestACalendarIsKept: backups are made at its times, and what was missed once.
func TestACalendarIsKept(t *testing.T) {
	t.Parallel()
	if _, err := ParseSettings([]byte(`{"environment":"demo","target":"swift://b/demo","recipients":["age1x"],"cron":"30 2 * *","key":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}`)); err == nil {
		t.Error("no calendar is accepted")
	}
	s, err := ParseSettings([]byte(`{"environment":"demo","target":"swift://b/demo","recipients":["age1x"],"cron":"30 2 * * *","drillCron":"@weekly","key":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}`))
	if err != nil {
		t.Fatal(err)
	}
	drills, err := s.drills()
	if err != nil || drills.Calendar() != "@weekly" || s.rhythm().Calendar() != "30 2 * * *" {
		t.Errorf("%v, %v, %v", s.rhythm(), drills, err)
	}
	r := &runner{due: s.rhythm()}
	if d := r.described(record.Schedule{}); d.Every != 86400 || d.Cron != "30 2 * * *" {
		t.Errorf("described %+v", d)
	}
}
