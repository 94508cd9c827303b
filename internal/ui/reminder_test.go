package ui

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-sh/slipway/internal/event"
)

// lines are what was printed, each with the time it was printed at.
type lines struct {
	at   []time.Time
	text []string
}

func (l *lines) Write(p []byte) (int, error) {
	l.at, l.text = append(l.at, time.Now()), append(l.text, string(bytes.TrimSpace(p)))
	return len(p), nil
}

// proves: F34
func TestALogIsNeverSilentForLongerThan30Seconds(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"plain", "json"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				out := &lines{}
				progress, err := NewProgress(mode, Streams{Err: out})
				if err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				step := event.Start(progress, "management-cluster", "creating")
				time.Sleep(50 * time.Second)
				// Changes at awkward moments, the second too soon after the first.
				for _, text := range []string{"1 of 4 machines", "2 of 4 machines; Machine demo-md-0-x: Provisioning"} {
					time.Sleep(9 * time.Second)
					step.Wait(text)
				}
				time.Sleep(10 * time.Minute)
				step.End("created", nil)
				ended := len(out.at)
				time.Sleep(5 * time.Minute)
				progress.Close()
				time.Sleep(time.Minute)

				last := begun
				for i, at := range out.at {
					if gap := at.Sub(last); gap > 30*time.Second {
						t.Errorf("nothing was said for %s before %q", gap, out.text[i])
					}
					last = at
				}
				if len(out.at) != ended {
					t.Errorf("after the end it said %q", out.text[ended:])
				}
				if said := out.text[ended-2]; !strings.Contains(said, "2 of 4 machines; Machine demo-md-0-x: Provisioning") {
					t.Errorf("at the end it waited for %q", said)
				}
			})
		})
	}
}
