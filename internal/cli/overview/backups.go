package overview

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/slipway-sh/slipway/internal/backup/record"
)

// BackupLine is how one schedule, or the last drill, goes.
type BackupLine struct {
	// What is "Backup", "Seed backup" or "Drill", Backup the ID that it is about.
	What, Backup, State string
	// Last is when it went well last; zero is never.
	Last time.Time
	Condition
}

// BackupLines are how the scheduled backups and the last drill went.
func (r Overview) BackupLines(now time.Time) (lines []BackupLine) {
	for _, one := range []struct {
		what string
		*record.Schedule
	}{{"Backup", r.Backups.Schedule}, {"Seed backup", r.Backups.Seed}} {
		if s := one.Schedule; s != nil {
			lines = append(lines, scheduleLine(one.what, s, now))
		}
	}
	late := r.Backups.DrillLate(now)
	if d := r.Backups.Drill; d != nil {
		line := BackupLine{"Drill", d.Backup, "passed", d.LastPassed, Well}
		if !d.Passed {
			line.State, line.Condition = "failed: "+strings.Join(d.Failed, "; "), Broken
		}
		if late {
			line.State += "; overdue"
			line.Condition = max(line.Condition, Changing)
		}
		lines = append(lines, line)
	} else if late {
		lines = append(lines, BackupLine{"Drill", "none", "overdue", time.Time{}, Changing})
	}
	return lines
}

func scheduleLine(what string, s *record.Schedule, now time.Time) BackupLine {
	line := BackupLine{what, cmp.Or(s.Backup, "none"), fmt.Sprintf("made %s, took %.0f s", often(s), s.Duration), s.LastSuccess, Well}
	switch {
	case s.Late(now):
		line.State, line.Condition = "late: "+cmp.Or(s.Error, "none was made in time"), Broken
	case s.Error != "":
		line.State, line.Condition = line.State+"; the last attempt failed: "+s.Error, Changing
	case s.PruneError != "":
		line.State, line.Condition = line.State+"; old ones are not removed: "+s.PruneError, Changing
	}
	return line
}

// backupLines are BackupLines as lines of the table.
func (r Overview) backupLines(now time.Time) (lines [][]string) {
	for _, line := range r.BackupLines(now) {
		last := ago(line.Last, now)
		if line.What == "Drill" {
			last = "passed " + last
		}
		lines = append(lines, []string{line.What, line.Backup, line.State, last})
	}
	return lines
}

// often says when backups are made.
func often(s *record.Schedule) string {
	if s.Cron != "" {
		return "at " + s.Cron + " UTC"
	}
	return "every " + duration.HumanDuration(time.Duration(s.Every*float64(time.Second)))
}

func ago(at, now time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return duration.HumanDuration(now.Sub(at)) + " ago"
}

// made says when the last backup was made.
func made(what string, s *record.Schedule, now time.Time) string {
	if s.LastSuccess.IsZero() {
		return "no " + what + " was ever made"
	}
	return "the last " + what + " was made " + ago(s.LastSuccess, now)
}

// backupTrouble is what is wrong with the backups, "" if nothing is.
func (r Overview) backupTrouble(now time.Time) (trouble, fix string) {
	if s := r.Backups.Schedule; s != nil && s.Late(now) {
		return made("backup", s, now) + ": " + cmp.Or(s.Error, "the management cluster made none since then"),
			"Make one with slipway backup create, and look at the Deployment slipway-backup in slipway-system"
	}
	if s := r.Backups.Seed; s != nil && s.Late(now) {
		return made("backup of the seed's datastore", s, now) + ": " + cmp.Or(s.Error, "the seed made none since then"),
			"Make one with slipway backup create, and look at the Deployment slipway-backup in slipway-system on the seed"
	}
	if d := r.Backups.Drill; d != nil && !d.Passed {
		return "backup " + d.Backup + " cannot be restored: " + strings.Join(d.Failed, "; "), "Make another with slipway backup create, and drill it"
	}
	if r.Backups.DrillLate(now) {
		last := time.Time{}
		if d := r.Backups.Drill; d != nil {
			last = d.LastPassed
		}
		return "no backup was restored for practice in time: a drill passed last " + ago(last, now), "Run slipway backup drill where the private key is"
	}
	return "", ""
}
