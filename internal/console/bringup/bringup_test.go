package bringup

import (
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/event"
)

func second(s int) time.Time { return time.Date(2026, 1, 2, 3, 0, s, 0, time.UTC) }

// run is network (0–5 s), then seed, which waits twice for the same, and a note.
func run() []event.Event {
	return []event.Event{
		{Time: second(0), Since: second(0), Step: "network", State: event.Started, Message: "creating"},
		{Time: second(5), Since: second(0), Step: "network", State: event.Done, Message: "created"},
		{Time: second(5), Since: second(5), Step: "seed", State: event.Started, Message: "creating"},
		{Time: second(6), State: event.Note, Message: "a backup was made"},
		{Time: second(10), Since: second(5), Step: "seed", State: event.Waiting, Message: "server is BUILD"},
		{Time: second(20), Since: second(5), Step: "seed", State: event.Waiting, Message: "server is BUILD"},
		{Time: second(25), Since: second(5), Step: "seed", State: event.Running, Done: 10, Total: 40, Unit: "bytes", Rate: 2},
		{Time: second(30), Since: second(5), Step: "seed", State: event.Failed, Error: "no valid host"},
	}
}

func TestAPictureOfEachTime(t *testing.T) {
	t.Parallel()
	seed := func(at time.Time) Step {
		for _, s := range At(run(), at).Steps {
			if s.Name == "seed" {
				return s
			}
		}
		return Step{}
	}
	if s := seed(second(4)); s.Name != "" {
		t.Errorf("before it began there is %+v", s)
	}
	if s := seed(second(22)); s.State != event.Waiting || s.Message != "server is BUILD" || !s.Asked.Equal(second(10)) || !s.Since.Equal(second(5)) || s.Took(second(22)) != 17*time.Second {
		t.Errorf("while it waits: %+v", s)
	}
	if s := seed(second(26)); s.State != event.Running || s.Message != "server is BUILD" || s.Done != 10 || !s.Asked.IsZero() {
		t.Errorf("while it counts: %+v", s)
	}
	end := At(run(), time.Time{})
	if s := seed(time.Time{}); s.Active() || s.Error != "no valid host" || s.Took(second(99)) != 25*time.Second {
		t.Errorf("in the end: %+v", s)
	}
	ended, all := end.Count()
	if failed := end.Failed(); ended != 2 || all != 2 || len(failed) != 1 || failed[0].Name != "seed" || len(end.Notes) != 1 || end.Notes[0].Text != "a backup was made" {
		t.Errorf("%d of %d, %+v, %+v", ended, all, failed, end.Notes)
	}
	if !end.Begin.Equal(second(0)) || !end.Last.Equal(second(30)) || !At(run(), second(12)).Last.Equal(second(10)) {
		t.Errorf("from %s to %s", end.Begin, end.Last)
	}
	if none := At(nil, time.Time{}); len(none.Steps) > 0 || !none.Begin.IsZero() {
		t.Errorf("of nothing: %+v", none)
	}
}

func TestAStepThatRunsOnceMore(t *testing.T) {
	t.Parallel()
	again := append(run(), event.Event{Time: second(40), Since: second(40), Step: "seed", State: event.Started, Message: "creating"})
	p := At(again, time.Time{})
	if s := p.Steps[1]; len(p.Steps) != 2 || !s.Active() || s.Error != "" || s.Unit != "" || !s.Since.Equal(second(40)) || !s.Until.IsZero() {
		t.Errorf("%+v", p.Steps)
	}
}

func TestWhatIsLeftIsLearnedFromAFormerRun(t *testing.T) {
	t.Parallel()
	former := At([]event.Event{
		{Time: second(0), Since: second(0), Step: "seed", State: event.Started},
		{Time: second(20), Since: second(0), Step: "seed", State: event.Done, Message: "created"},
		{Time: second(50), Since: second(20), Step: "cluster", State: event.Done, Message: "created"},
	}, time.Time{})
	now := At(run()[:5], time.Time{})
	for at, want := range map[int]time.Duration{10: 45 * time.Second, 15: 40 * time.Second, 60: 30 * time.Second} {
		if got := now.Left(former, second(at)); got != want {
			t.Errorf("at %d s: %s, want %s", at, got, want)
		}
	}
	if got := now.Left(Picture{}, second(10)); got != 0 {
		t.Errorf("without a former run: %s", got)
	}
	if got := former.Usual("cluster"); got != 30*time.Second || former.Usual("x") != 0 {
		t.Errorf("usually %s", got)
	}
}
