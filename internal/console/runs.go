package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/console/bringup"
	"github.com/slipway-sh/slipway/internal/console/frame"
	"github.com/slipway-sh/slipway/internal/console/words"
	"github.com/slipway-sh/slipway/internal/event"
)

// progress is a run at one time.
type progress struct {
	Run
	bringup.Picture
	// Now is the time of the picture.
	Now time.Time
	// Former is the run that this one is compared with; its Steps are empty if there is none.
	Former bringup.Picture
	// Left is how long the run may still take; zero if nobody knows.
	Left time.Duration
	// Kept is false if there are no events of the run.
	Kept bool
	// At is how many seconds after the beginning the picture is, Length how long the events
	// last; Replay is set if the end is not what is shown.
	At, Length int
	Replay     bool
	// Graph is which step came after which, as far as the state knows.
	Graph bringup.Graph
	// Others are other runs to look at.
	Others []Run
}

// bringUp shows the run that is asked for, else the one that is going on, else the last up.
func (s *Server) bringUp(ctx context.Context, at frame.Look) frame.View {
	r := s.runs.Look(ctx)
	v := frame.Shown(words.T("Bring-up"), words.T("the log of runs"), r, nil)
	run, found := pick(r.Value, at.URL.Query().Get("run"))
	switch {
	case !r.Known():
		return v
	case !found && at.URL.Query().Has("run"):
		v.Status = http.StatusNotFound
		v.Data = progress{Others: r.Value}
		v.Trouble = append(v.Trouble, frame.Trouble{What: words.T("the run"), Why: words.T("there is no run of this ID"), Fix: words.T("choose one of the runs below")})
		return v
	case !found:
		v.Data = progress{}
		return v
	}
	p := s.progress(ctx, at, run)
	p.Others = r.Value[:min(len(r.Value), 12)]
	v.Data, v.Final = *p, !run.Running() && at.URL.Query().Has("run") && !at.URL.Query().Has("play")
	return v
}

// run shows one run of the log.
func (s *Server) run(ctx context.Context, at frame.Look) frame.View {
	r := s.runs.Look(ctx)
	id := at.PathValue("id")
	i := slices.IndexFunc(r.Value, func(one Run) bool { return one.ID == id })
	v := frame.Shown(words.T("Run"), words.T("the log of runs"), r, nil)
	if !r.Known() {
		return v
	}
	if i < 0 {
		v.Status = http.StatusNotFound
		v.Trouble = append(v.Trouble, frame.Trouble{What: words.T("the run"), Why: words.T("it is not among the newest runs"), Fix: words.T("list all with slipway log --last 0")})
		return v
	}
	v.Data, v.Final = *s.progress(ctx, at, r.Value[i]), !r.Value[i].Running()
	return v
}

// pick is the run of an ID; without one the newest that is going on, else the newest up, else
// the newest.
func pick(runs []Run, id string) (Run, bool) {
	for _, suits := range []func(Run) bool{Run.Running, func(r Run) bool { return verb(r) == "up" }, func(Run) bool { return true }} {
		if id != "" {
			suits = func(r Run) bool { return r.ID == id }
		}
		if i := slices.IndexFunc(runs, suits); i >= 0 {
			return runs[i], true
		}
	}
	return Run{}, false
}

// verb is the command without the program's name and its flags.
func verb(r Run) string {
	if r.Outcome == OutcomeEvents {
		return "up"
	}
	words := strings.Fields(r.Command)
	if len(words) < 2 {
		return ""
	}
	return words[1]
}

// progress is a picture of a run: of now, or of the time that the request asks for.
func (s *Server) progress(ctx context.Context, at frame.Look, run Run) *progress {
	events := s.events.Of(run.ID).Look(ctx).Value
	end := bringup.At(events, time.Time{})
	p := &progress{Run: run, Picture: end, Now: at.Now, Kept: len(events) > 0, Length: int((end.Last.Sub(end.Begin) + time.Second - 1) / time.Second)}
	if !run.Running() || run.Outcome == OutcomeEvents {
		p.Now = end.Last
	}
	p.At = p.Length
	if moment, asked := replayed(at, p.Length); asked && p.Kept {
		p.Replay, p.At, p.Now = true, int(moment/time.Second), end.Begin.Add(moment)
		p.Picture = bringup.At(events, p.Now)
		if p.Begin.IsZero() {
			p.Begin = end.Begin
		}
	}
	if former := s.former.Of(run.ID).Look(ctx); former.Known() {
		p.Former = former.Value
		p.Left = p.Picture.Left(p.Former, p.Now)
	}
	// Without an answer there are the lanes.
	p.Graph = bringup.NewGraph(p.Steps, s.order.Look(ctx).Value)
	return p
}

// replayed is the time of the run that the request asks for: "at" seconds after its beginning,
// and "play" times as many as have passed since the page was opened.
func replayed(at frame.Look, length int) (moment time.Duration, asked bool) {
	q := at.URL.Query()
	from, err := strconv.Atoi(q.Get("at"))
	play, none := strconv.Atoi(q.Get("play"))
	if err != nil && none != nil {
		return 0, false
	}
	whole := time.Duration(length) * time.Second
	moment = time.Duration(min(max(0, from), length)) * time.Second
	if none == nil {
		moment += at.Now.Sub(at.Began) * time.Duration(min(max(1, play), 600))
	}
	return min(moment, whole), true
}

// Fast is how many times as fast as it was a replay of about a minute is.
func (p progress) Fast() int { return max(1, p.Length/60) }

// Play is the address of a replay from the beginning.
func (p progress) Play() string {
	return "/up?" + url.Values{"run": {p.ID}, "play": {strconv.Itoa(p.Fast())}}.Encode()
}

// Elapsed is how long the run has taken.
func (p progress) Elapsed() time.Duration {
	if p.Begin.IsZero() {
		return 0
	}
	return max(0, p.Now.Sub(p.Begin))
}

// Path is the run's address.
func (r Run) Path() string { return "/up?" + url.Values{"run": {r.ID}}.Encode() }

// LogPath is the run's address in the log.
func (r Run) LogPath() string { return "/log/" + url.PathEscape(r.ID) }

// Acute are the steps that failed or have not ended.
func (p progress) Acute() []bringup.Step {
	active := slices.DeleteFunc(slices.Clone(p.Steps), func(s bringup.Step) bool { return !s.Active() })
	return append(p.Failed(), active...)
}

// bar is where a step is on a line of a thousand points from the beginning of the run to now.
type bar struct{ X, Width int }

// Bar is the bar of a step.
func (p progress) Bar(s bringup.Step) bar {
	whole := p.Elapsed()
	if whole <= 0 {
		return bar{0, 1000}
	}
	x := int(1000 * s.Since.Sub(p.Begin) / whole)
	x = min(max(0, x), 996)
	return bar{x, min(max(4, int(1000*s.Took(p.Now)/whole)), 1000-x)}
}

// Percent is how much of a step is done; -1 if it does not say.
func (p progress) Percent(s bringup.Step) int {
	if s.Total <= 0 {
		return -1
	}
	return int(min(100, 100*max(0, s.Done)/s.Total))
}

// Counted is how far a step is, in its own units.
func (p progress) Counted(s bringup.Step) words.Text {
	show := func(n int64) words.Text { return words.Said(strconv.FormatInt(n, 10) + " " + s.Unit) }
	if s.Unit == "bytes" {
		show = func(n int64) words.Text { return words.Bytes(n) }
	}
	switch {
	case s.Unit == "":
		return nil
	case s.Total <= 0:
		return show(s.Done)
	}
	return words.T("%s of %s", show(s.Done), show(s.Total))
}

// Outlook says how long the run may still take.
func (p progress) Outlook() words.Text {
	if p.Left < time.Second || len(p.Former.Steps) == 0 {
		return nil
	}
	return words.T("About %s left, if it goes like the last time", frame.Took(p.Left))
}

// mostCompared is how many former runs are read to find one to compare with.
const mostCompared = 5

var errNoFormer = errors.New("no run of before is like this one")

// formerRun is the run that a run is compared with: of the last ones of the same command that
// succeeded, the one with the most changes, because a run that found nothing to do says nothing
// about one that has.
func (s *Server) formerRun(ctx context.Context, id string) (best bringup.Picture, err error) {
	runs := s.runs.Look(ctx).Value
	i := slices.IndexFunc(runs, func(r Run) bool { return r.ID == id })
	if i < 0 {
		return best, errNoFormer
	}
	read := 0
	for _, r := range runs[i+1:] {
		if r.Outcome != "succeeded" || verb(r) != verb(runs[i]) || read == mostCompared {
			continue
		}
		read++
		events, err := s.options.Sources.Events(ctx, r.ID)
		if err != nil {
			return best, err
		}
		if p := bringup.At(events, time.Time{}); changes(p) > changes(best) {
			best = p
		}
	}
	if len(best.Steps) == 0 {
		return best, errNoFormer
	}
	return best, nil
}

func changes(p bringup.Picture) (n int) {
	for _, s := range p.Steps {
		if s.State == event.Done {
			n++
		}
	}
	return n
}

// Finished is how many steps have ended.
func (p progress) Finished() int {
	ended, _ := p.Count()
	return ended
}
