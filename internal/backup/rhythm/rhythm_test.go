package rhythm

import (
	"testing"
	"time"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// TestWhenItIsDue: in UTC whatever the time's zone is; at once if it never was.
func TestWhenItIsDue(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		every, cron, after, want string
		shortest, longest        time.Duration
	}{
		{"1h", "", "2026-03-01T12:00:00Z", "2026-03-01T13:00:00Z", time.Hour, time.Hour},
		{"", "0 2 * * *", "2026-03-01T12:00:00Z", "2026-03-02T02:00:00Z", 24 * time.Hour, 24 * time.Hour},
		{"", "0 2 * * *", "2026-03-01T03:00:00+02:00", "2026-03-01T02:00:00Z", 24 * time.Hour, 24 * time.Hour},
		{"", "30 1 * * 1-5", "2026-03-06T02:00:00Z", "2026-03-09T01:30:00Z", 24 * time.Hour, 72 * time.Hour},
		{"", "@weekly", "2026-03-02T00:00:00Z", "2026-03-08T00:00:00Z", 168 * time.Hour, 168 * time.Hour},
		{"", "*/10 * * * *", "2026-03-01T12:01:00Z", "2026-03-01T12:10:00Z", 10 * time.Minute, 10 * time.Minute},
	} {
		r, err := Parse(test.every, test.cron)
		if err != nil {
			t.Errorf("%s%s: %v", test.every, test.cron, err)
			continue
		}
		after := at(t, test.after)
		if got := r.Next(after); !got.Equal(at(t, test.want)) {
			t.Errorf("%s after %s: %s", r, test.after, got)
		}
		if r.Shortest(after) != test.shortest || r.Longest(after) != test.longest {
			t.Errorf("%s: between %s and %s", r, r.Shortest(after), r.Longest(after))
		}
		if !r.Next(time.Time{}).IsZero() || r.Calendar() != test.cron || r.String() != test.every+test.cron && r.Calendar() != "" {
			t.Errorf("%s: %+v", r, r)
		}
	}
}

// TestWhatIsNoRhythm is refused, also what would never be due.
func TestWhatIsNoRhythm(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"0 2 * *", "61 * * * *", "soon", "0 0 30 2 *", "TZ=Europe/Berlin 0 2 * * *", "CRON_TZ=Europe/Berlin 0 2 * * *", "@every 1h", "0 0 2 * * *"} {
		if r, err := Cron(text); err == nil {
			t.Errorf("%q is %s", text, r)
		}
	}
	for _, every := range []string{"", "soon", "1ms"} {
		if r, err := Parse(every, ""); err == nil {
			t.Errorf("%q is %s", every, r)
		}
	}
}
