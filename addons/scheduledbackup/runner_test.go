package scheduledbackup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/record"
	"github.com/slipway-sh/slipway/internal/backup/rhythm"
	"github.com/slipway-sh/slipway/internal/recovery/fence"
)

// world is what a runner works on; the test chooses what fails.
type world struct {
	state              record.State
	made, pruned       []time.Time
	running            int
	fail, forbid, full error
	slow               time.Duration
	told               []error
}

func (w *world) runner(every time.Duration) *runner {
	return &runner{due: rhythm.Every(every),
		make: func(ctx context.Context) (backup.Backup, error) {
			w.running++
			defer func() { w.running-- }()
			if w.running > 1 {
				panic("two at once")
			}
			if !wait(ctx, w.slow) {
				return backup.Backup{}, ctx.Err()
			}
			w.made = append(w.made, time.Now())
			return backup.Backup{ID: "b"}, w.fail
		},
		prune:   func(context.Context) error { w.pruned = append(w.pruned, time.Now()); return w.full },
		allowed: func(context.Context) error { return w.forbid },
		load:    func(context.Context) (record.State, error) { return w.state, nil },
		save:    func(_ context.Context, s record.Schedule) error { w.state.Schedule = &s; return nil },
		tell:    func(_ record.Schedule, err error) { w.told = append(w.told, err) },
		show:    func(record.Schedule) {},
	}
}

// run runs a runner for a while.
func (w *world) run(t *testing.T, every, span time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	if err := w.runner(every).Start(ctx); err != nil {
		t.Error(err)
	}
}

// TestBackupsAreMadeInTime: at once when there is none, then at the interval, and by a
// new process when the next one is due, not before.
func TestBackupsAreMadeInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{slow: time.Minute}
		w.run(t, time.Hour, 3*time.Hour+30*time.Minute)
		if len(w.made) != 4 || len(w.pruned) != 4 {
			t.Fatalf("%d backups, %d prunes", len(w.made), len(w.pruned))
		}
		s := *w.state.Schedule
		if s.Duration != 60 || s.Backup != "b" || s.Error != "" || s.Every != 3600 || s.Late(time.Now()) {
			t.Errorf("record %+v", s)
		}
		w.run(t, time.Hour, 29*time.Minute)
		if len(w.made) != 4 {
			t.Error("a new process makes one that is not due")
		}
		time.Sleep(3 * time.Hour) // nobody was there
		if !w.state.Schedule.Late(time.Now()) {
			t.Error("nobody sees that backups are missing")
		}
		w.run(t, time.Hour, 2*time.Minute)
		if len(w.made) != 5 {
			t.Errorf("%d backups: what was missed is made at once, and once", len(w.made))
		}
	})
}

// TestAClockThatWasAhead: a record of the future does not keep backups from being made until then.
func TestAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	daily, err := rhythm.Cron("0 3 * * *")
	if err != nil {
		t.Fatal(err)
	}
	for name, due := range map[string]rhythm.Rhythm{"interval": rhythm.Every(24 * time.Hour), "calendar": daily} {
		synctest.Test(t, func(t *testing.T) {
			w := &world{state: record.State{Schedule: &record.Schedule{LastSuccess: time.Now().AddDate(1, 0, 0)}}}
			one := w.runner(time.Hour)
			one.due = due
			ctx, cancel := context.WithTimeout(t.Context(), 49*time.Hour)
			defer cancel()
			if err := one.Start(ctx); err != nil || len(w.made) != 2 {
				t.Errorf("%s: %d backups in two days, %v", name, len(w.made), err)
			}
			if w.state.Schedule.LastSuccess.After(time.Now()) {
				t.Errorf("%s: the record is still of the future", name)
			}
		})
	}
}

// TestFailuresAreCountedAndTriedAgain: after a minute, then ever later, and the count
// outlives the process.
func TestFailuresAreCountedAndTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{fail: errors.New("there is no space left")}
		w.run(t, time.Hour, 10*time.Minute)
		if n := len(w.made); n != 4 { // after 0, 1, 3 and 7 minutes
			t.Errorf("%d attempts", n)
		}
		if s := w.state.Schedule; s.Failures != 4 || !strings.Contains(s.Error, "no space") || !s.LastSuccess.IsZero() || len(w.pruned) != 0 {
			t.Errorf("record %+v, %d prunes", s, len(w.pruned))
		}
		w.fail, w.full = nil, errors.New("denied")
		w.run(t, time.Hour, time.Minute)
		if s := w.state.Schedule; s.Failures != 4 || s.Error != "" || s.PruneError != "denied" || s.LastSuccess.IsZero() {
			t.Errorf("record %+v", s)
		}
	})
}

// TestTheFirstLookAtTheFenceIsAwaited: a process that has just started failed at nothing, and
// status would tell of it for a minute.
func TestTheFirstLookAtTheFenceIsAwaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{forbid: fmt.Errorf("the fence is closed: %w", fence.ErrBegins)}
		time.AfterFunc(3500*time.Millisecond, func() { w.forbid = nil })
		w.run(t, time.Hour, 10*time.Second)
		if len(w.made) != 1 || len(w.told) != 1 || w.told[0] != nil || w.state.Schedule.Failures != 0 {
			t.Errorf("%d backups, told %v", len(w.made), w.told)
		}
	})
}

// TestAReplacedClusterMakesNoBackups: it would be the newest one, and of the past.
func TestAReplacedClusterMakesNoBackups(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{forbid: errors.New("a newer management cluster")}
		w.run(t, time.Hour, 5*time.Hour)
		if len(w.made) != 0 || len(w.pruned) != 0 {
			t.Errorf("%d backups, %d prunes", len(w.made), len(w.pruned))
		}
		if s := w.state.Schedule; !strings.Contains(s.Error, "newer management cluster") || s.Failures != 0 {
			t.Errorf("record %+v", s)
		}
		w.forbid = nil
		w.run(t, time.Hour, time.Minute)
		if len(w.made) != 1 {
			t.Error("it does not go on")
		}
	})
}

// TestAnEndIsNoFailure: a process that is told to end, or loses its lease, counts none.
func TestAnEndIsNoFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{slow: 10 * time.Minute}
		w.run(t, time.Hour, time.Minute)
		if w.state.Schedule != nil || len(w.told) != 0 {
			t.Errorf("record %+v, told %v", w.state.Schedule, w.told)
		}
		w.slow = 2 * attemptTime
		w.run(t, time.Hour, attemptTime+time.Second)
		if s := w.state.Schedule; s == nil || s.Failures != 1 || !strings.Contains(s.Error, "longer than") {
			t.Errorf("one that takes for ever: %+v", s)
		}
	})
}

func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	const good = `{"environment":"demo","target":"swift://b/demo","recipients":["age1x"],"every":"1h","key":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}`
	if s, err := ParseSettings([]byte(good)); err != nil || s.rhythm().String() != "1h0m0s" {
		t.Errorf("%+v, %v", s, err)
	}
	for from, to := range map[string]string{`"1h"`: `"soon"`, `"demo"`: `""`, `["age1x"]`: `[]`, `AAAAAAAAAAAAAAAA`: ``, `{"env`: `{env`} {
		if _, err := ParseSettings([]byte(strings.Replace(good, from, to, 1))); err == nil {
			t.Errorf("%s instead of %s is accepted", to, from)
		} else if strings.Contains(err.Error(), "AAAA") {
			t.Errorf("the key is told: %v", err)
		}
	}
}
