package record

import (
	"testing"
	"time"
)

// TestALateDrill is missed from the beginning of the watch or from the last that passed. One that
// passed by a clock that was ahead is none.
func TestALateDrill(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	now := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		since, passed time.Duration // ago; 0 is never
		late          bool
	}{
		"none yet":             {6 * day, 0, false},
		"none ever":            {20 * day, 0, true},
		"in time":              {20 * day, 6 * day, false},
		"too long ago":         {20 * day, 9 * day, true},
		"a moment ahead":       {20 * day, -time.Minute, false},
		"a year ahead":         {20 * day, -365 * day, true},
		"a year ahead, so far": {6 * day, -365 * day, false},
	} {
		s := State{Watch: &Watch{Every: (7 * day).Seconds(), Since: now.Add(-test.since)}}
		if test.passed != 0 {
			s.Drill = &Drill{Passed: true, LastPassed: now.Add(-test.passed)}
		}
		if got := s.DrillLate(now); got != test.late {
			t.Errorf("%s: %v", name, got)
		}
	}
}
