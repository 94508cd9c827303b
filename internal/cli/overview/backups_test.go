package overview

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/backup/record"
)

func TestBackupsAndDrillsAreShown(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	good := record.Schedule{Every: 3600, LastSuccess: now.Add(-30 * time.Minute), Backup: "b1", Duration: 12}
	failing, late, nightly := good, good, good
	nightly.Every, nightly.Cron = 86400, "30 2 * * *"
	failing.Error = "there is no space left"
	late.LastSuccess, late.Error = now.Add(-5*time.Hour), "access is denied"
	silent := late
	silent.Error = ""
	for name, test := range map[string]struct {
		state       record.State
		line, wrong string
	}{
		"none":               {record.State{}, "", ""},
		"good":               {record.State{Schedule: &good}, "Backup b1 made every 60m, took 12 s 30m ago", ""},
		"one failed":         {record.State{Schedule: &failing}, "the last attempt failed: there is no space left", ""},
		"late":               {record.State{Schedule: &late}, "late: access is denied 5h ago", "5h ago: access is denied"},
		"nobody tried":       {record.State{Schedule: &silent}, "late: none was made in time", "made none since then"},
		"never":              {record.State{Schedule: &record.Schedule{Every: 3600}}, "Backup none late", "no backup was ever made: the management cluster made none"},
		"the seed's is late": {record.State{Schedule: &good, Seed: &late}, "[Seed backup b1 late: access is denied 5h ago]", "seed's datastore was made 5h ago: access is denied"},
		"the seed's is made": {record.State{Schedule: &good, Seed: &good}, "[Seed backup b1 made every 60m, took 12 s 30m ago]", ""},
		"a calendar":         {record.State{Schedule: &nightly}, "made at 30 2 * * * UTC", ""},
		"no drill yet":       {record.State{Watch: &record.Watch{Every: 7 * 86400, Since: now.Add(-3 * 24 * time.Hour)}}, "[]", ""},
		"none for long":      {record.State{Watch: &record.Watch{Every: 7 * 86400, Since: now.Add(-9 * 24 * time.Hour)}}, "Drill none overdue passed never", "a drill passed last never"},
		"one is due":         {record.State{Drill: &record.Drill{Backup: "b1", Passed: true, LastPassed: now.Add(-9 * 24 * time.Hour)}, Watch: &record.Watch{Every: 7 * 86400}}, "Drill b1 passed; overdue passed 9d ago", "a drill passed last 9d ago"},
		"drill passed":       {record.State{Drill: &record.Drill{Backup: "b1", Passed: true, LastPassed: now.Add(-48 * time.Hour)}}, "Drill b1 passed passed 2d ago", ""},
		"a drill failed":     {record.State{Drill: &record.Drill{Backup: "b2", Failed: []string{"machines: Machine a: gone"}}}, "Drill b2 failed: machines: Machine a: gone passed never", "b2 cannot be restored: machines: Machine a: gone"},
	} {
		r := Overview{Backups: test.state}
		text := fmt.Sprint(r.backupLines(now))
		trouble, fix := r.backupTrouble(now)
		if !strings.Contains(text, test.line) || (trouble == "") != (test.wrong == "") || !strings.Contains(trouble, test.wrong) || (trouble != "") != (fix != "") {
			t.Errorf("%s: %s; trouble %q", name, text, trouble)
		}
	}
}
