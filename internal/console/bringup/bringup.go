// Package bringup makes a picture of a run out of its events: which steps there are, what
// each does or waits for, since when, and what it ended with. The picture can be of any time
// of the run, so that a run can be watched again.
package bringup

import (
	"cmp"
	"slices"
	"time"

	"github.com/slipway-sh/slipway/internal/event"
)

// Step is one step as it was at the time of the picture.
type Step struct {
	Name  string
	State event.State
	// Message says what the step does or waits for, or what it ended with; Error is its cause
	// if it failed.
	Message, Error string
	// Since is when it began, Until when it ended; zero while it runs.
	Since, Until time.Time
	// Asked is since when it has waited for the same, by the words of the message; zero if it
	// does not wait.
	Asked time.Time
	// Done of Total in Unit, and the rate in units per second.
	Done, Total int64
	Unit        string
	Rate        float64
}

// Active reports whether the step has not ended.
func (s Step) Active() bool {
	return s.State == event.Started || s.State == event.Running || s.State == event.Waiting
}

// Took is how long the step ran until it ended, or until now.
func (s Step) Took(now time.Time) time.Duration {
	end := s.Until
	if end.IsZero() {
		end = now
	}
	return max(0, end.Sub(s.Since))
}

// Note is a message that belongs to no step.
type Note struct {
	At   time.Time
	Text string
}

// Picture is a run at one time.
type Picture struct {
	Steps []Step
	Notes []Note
	// Begin is when the first step began, Last the time of the last event that is in the
	// picture.
	Begin, Last time.Time
}

// At is the picture of a time; the zero time is the end of the events.
func At(events []event.Event, at time.Time) Picture {
	var p Picture
	index := map[string]int{}
	for _, e := range events {
		if !at.IsZero() && e.Time.After(at) {
			continue
		}
		began := e.Time
		if !e.Since.IsZero() {
			began = e.Since
		}
		if p.Begin.IsZero() || began.Before(p.Begin) {
			p.Begin = began
		}
		if e.Time.After(p.Last) {
			p.Last = e.Time
		}
		if e.State == event.Note || e.Step == "" {
			p.Notes = append(p.Notes, Note{e.Time, cmp.Or(e.Message, e.Error)})
			continue
		}
		i, known := index[e.Step]
		if !known {
			i = len(p.Steps)
			index[e.Step] = i
			p.Steps = append(p.Steps, Step{Name: e.Step, Since: began})
		}
		p.Steps[i].hear(e, began)
	}
	slices.SortStableFunc(p.Steps, func(a, b Step) int { return a.Since.Compare(b.Since) })
	return p
}

// hear takes one event of the step.
func (s *Step) hear(e event.Event, began time.Time) {
	if !s.Active() && e.State == event.Started { // the step once more, in the same run
		*s = Step{Name: s.Name, Since: began}
	}
	if e.State != event.Waiting {
		s.Asked = time.Time{}
	} else if s.Asked.IsZero() || e.Message != s.Message {
		s.Asked = e.Time
	}
	s.State = e.State
	if e.Message != "" || e.State != event.Running {
		s.Message = e.Message
	}
	s.Error = e.Error
	if e.Unit != "" {
		s.Done, s.Total, s.Unit, s.Rate = e.Done, e.Total, e.Unit, e.Rate
	}
	if !s.Active() {
		s.Until = e.Time
	}
}

// Count is how many steps have ended, and how many there are so far.
func (p Picture) Count() (ended, all int) {
	for _, s := range p.Steps {
		if !s.Active() {
			ended++
		}
	}
	return ended, len(p.Steps)
}

// Failed are the steps that failed, the first one first.
func (p Picture) Failed() []Step {
	failed := slices.DeleteFunc(slices.Clone(p.Steps), func(s Step) bool { return s.State != event.Failed })
	slices.SortStableFunc(failed, func(a, b Step) int { return a.Until.Compare(b.Until) })
	return failed
}

// Left is how long the run may still take if it goes like a former one: the time that the
// former one took from where this one is now. It is zero if the former one says nothing about
// the steps at work. A step that takes longer than before counts as if it ended now.
func (p Picture) Left(former Picture, now time.Time) time.Duration {
	before := map[string]Step{}
	for _, s := range former.Steps {
		before[s.Name] = s
	}
	var left time.Duration
	for _, s := range p.Steps {
		was, known := before[s.Name]
		if !s.Active() || !known || was.Until.IsZero() {
			continue
		}
		at := was.Since.Add(s.Took(now)) // where the former run was then
		if at.After(was.Until) {
			at = was.Until
		}
		left = max(left, former.Last.Sub(at))
	}
	return left
}

// Usual is how long a step took in this run; zero if it did not end well.
func (p Picture) Usual(step string) time.Duration {
	for _, s := range p.Steps {
		if s.Name == step && s.State == event.Done {
			return s.Took(s.Until)
		}
	}
	return 0
}
