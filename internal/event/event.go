// Package event reports the progress of long operations. Libraries emit events to a
// Sink; package ui renders them for a terminal, a log or a program.
package event

import (
	"sync"
	"time"
)

// State is the state of a step.
type State string

// The states of a step. A step begins with Started and ends with Done, Failed or
// Skipped; in between it may be Running and Waiting any number of times.
const (
	Started State = "started"
	Running State = "running"
	Waiting State = "waiting"
	Done    State = "done"
	Failed  State = "failed"
	Skipped State = "skipped"
	// Note is a message that belongs to no step.
	Note State = "note"
)

// Event is a change of a step. `--progress json` prints its JSON form, one object
// per line.
type Event struct {
	Time  time.Time `json:"time"`
	Step  string    `json:"step,omitempty"`
	State State     `json:"state"`
	// Message says what the step does, or what it waits for.
	Message string `json:"message,omitempty"`
	// Done and Total count in Unit ("bytes", "items"); Total 0 means unknown.
	Done  int64  `json:"done,omitempty"`
	Total int64  `json:"total,omitempty"`
	Unit  string `json:"unit,omitempty"`
	// Rate is the number of units per second, if the step knows it.
	Rate float64 `json:"rate,omitempty"`
	// Since is when the step began.
	Since time.Time `json:"since,omitzero"`
	// Error is the cause of Failed.
	Error string `json:"error,omitempty"`
}

// Sink receives events. Emit is called from many goroutines and must not block for
// long.
type Sink interface {
	Emit(Event)
}

// Discard is a Sink that drops every event.
type Discard struct{}

// Emit drops the event.
func (Discard) Emit(Event) {}

// Recorder is a Sink that keeps every event, for tests.
type Recorder struct {
	mu     sync.Mutex
	events []Event
}

// Emit keeps the event.
func (r *Recorder) Emit(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// Events returns the events so far, in order.
func (r *Recorder) Events() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Event(nil), r.events...)
}

// Step is one running piece of work. Its methods are safe for concurrent use.
type Step struct {
	sink  Sink
	name  string
	since time.Time
}

// Start emits Started and returns the step.
func Start(sink Sink, name, message string) *Step {
	s := &Step{sink: sink, name: name, since: time.Now()}
	s.emit(Event{State: Started, Message: message})
	return s
}

func (s *Step) emit(e Event) {
	e.Time, e.Step, e.Since = time.Now(), s.name, s.since
	s.sink.Emit(e)
}

// Run reports what the step does now.
func (s *Step) Run(message string) { s.emit(Event{State: Running, Message: message}) }

// Count reports how far the step is.
func (s *Step) Count(done, total int64, unit string) {
	s.emit(Event{State: Running, Done: done, Total: total, Unit: unit})
}

// Flow reports how many bytes are done, and the bytes per second.
func (s *Step) Flow(done, total int64, rate float64) {
	s.emit(Event{State: Running, Done: done, Total: total, Unit: "bytes", Rate: rate})
}

// Wait reports what the step waits for.
func (s *Step) Wait(message string) { s.emit(Event{State: Waiting, Message: message}) }

// Skip ends a step that had nothing to do; it takes the reason.
func (s *Step) Skip(reason string) { s.emit(Event{State: Skipped, Message: reason}) }

// End ends the step: Done with the message, or Failed with the error.
func (s *Step) End(message string, err error) {
	if err != nil {
		s.emit(Event{State: Failed, Error: err.Error()})
		return
	}
	s.emit(Event{State: Done, Message: message})
}

// Elapsed is how long the step has been running.
func (s *Step) Elapsed() time.Duration { return time.Since(s.since) }
