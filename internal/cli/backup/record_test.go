package backup

import (
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/backup/record"
	"github.com/slipway-sh/slipway/internal/config"
)

// TestWhenADrillIsDue: by the file, each week if it does not say, and again after a failure.
func TestWhenADrillIsDue(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC) // a Sunday
	passed := func(ago time.Duration) record.Drill {
		return record.Drill{Passed: true, At: now.Add(-ago), LastPassed: now.Add(-ago)}
	}
	failed := passed(time.Hour)
	failed.Passed = false
	for name, test := range map[string]struct {
		drill *config.BackupDrill
		last  record.Drill
		want  time.Duration // from now; 0 is now
	}{
		"never":               {nil, record.Drill{}, 0},
		"nothing said":        {nil, passed(24 * time.Hour), 6 * 24 * time.Hour},
		"a week ago":          {nil, passed(7 * 24 * time.Hour), 0},
		"each day":            {&config.BackupDrill{Every: config.Duration(24 * time.Hour)}, passed(20 * time.Hour), 4 * time.Hour},
		"on Mondays":          {&config.BackupDrill{Cron: "0 4 * * 1"}, passed(24 * time.Hour), 16 * time.Hour},
		"on Sundays, at noon": {&config.BackupDrill{Cron: "0 12 * * 0"}, passed(24 * time.Hour), 0},
		"it failed":           {nil, failed, 0},
		"its clock was ahead": {nil, passed(-365 * 24 * time.Hour), 0},
	} {
		loaded := &config.Loaded{Environment: &config.Environment{}}
		loaded.Environment.Spec.Backup = &config.Backup{Drill: test.drill}
		got := dueAfter(loaded, test.last, now)
		if test.want == 0 && !got.IsZero() || test.want != 0 && !got.Equal(now.Add(test.want)) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
