package overview

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/slipway-sh/slipway/internal/backup/record"
)

// backupLines are how the scheduled backups and the last drill went.
func (r Overview) backupLines(now time.Time) (lines [][]string) {
	for _, one := range []struct {
		what string
		*record.Schedule
	}{{"Backup", r.Backups.Schedule}, {"Seed backup", r.Backups.Seed}} {
		s := one.Schedule
		if s == nil {
			continue
		}
		state := fmt.Sprintf("made %s, took %.0f s", often(s), s.Duration)
		if s.Late(now) {
			state = "late: " + cmp.Or(s.Error, "none was made in time")
		} else if s.Error != "" {
			state += "; the last attempt failed: " + s.Error
		} else if s.PruneError != "" {
			state += "; old ones are not removed: " + s.PruneError
		}
		lines = append(lines, []string{one.what, cmp.Or(s.Backup, "none"), state, ago(s.LastSuccess, now)})
	}
	if d := r.Backups.Drill; d != nil {
		state := "passed"
		if !d.Passed {
			state = "failed: " + strings.Join(d.Failed, "; ")
		}
		if r.Backups.DrillLate(now) {
			state += "; overdue"
		}
		lines = append(lines, []string{"Drill", d.Backup, state, "passed " + ago(d.LastPassed, now)})
	} else if r.Backups.DrillLate(now) {
		lines = append(lines, []string{"Drill", "none", "overdue", "passed never"})
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
