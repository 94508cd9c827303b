package ui

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slipway-sh/slipway/internal/event"
)

// Modes are the values of --progress.
func Modes() []string { return []string{"auto", "tty", "plain", "json"} }

// Progress is a Sink that must be closed when the work has ended; closing it again does nothing.
type Progress interface {
	event.Sink
	Close()
}

// NewProgress returns the renderer for a mode: tty redraws the running steps in
// place, plain prints a line for each change, json prints one object per line. plain
// and json repeat every remindEvery what is running. auto is tty on a terminal and
// plain elsewhere. An unknown mode is an error that lists the modes.
func NewProgress(mode string, s Streams) (Progress, error) {
	p, err := newProgress(mode, s)
	if err != nil || s.Events == nil {
		return p, err
	}
	return both{p, s.Events}, nil
}

// both shows events and passes them on.
type both struct {
	Progress
	also event.Sink
}

func (b both) Emit(e event.Event) {
	b.Progress.Emit(e)
	b.also.Emit(e)
}

func newProgress(mode string, s Streams) (Progress, error) {
	switch mode {
	case "auto":
		if s.Terminal {
			return newTerminal(s.Err, s.Width), nil
		}
		return reminding(&plain{w: s.Err}), nil
	case "tty":
		return newTerminal(s.Err, s.Width), nil
	case "plain":
		return reminding(&plain{w: s.Err}), nil
	case "json":
		return reminding(&jsonLines{encoder: json.NewEncoder(s.Err)}), nil
	}
	return nil, fmt.Errorf("unknown progress mode %q (one of %s)", mode, strings.Join(Modes(), ", "))
}

type jsonLines struct {
	mu      sync.Mutex
	encoder *json.Encoder
}

func (j *jsonLines) Emit(e event.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	_ = j.encoder.Encode(e) // a reader that closed its end must not stop the work
}

func (*jsonLines) Close() {}

// plainEvery bounds how often plain progress repeats a running or waiting step.
const plainEvery = 10 * time.Second

type plain struct {
	mu   sync.Mutex
	w    io.Writer
	last map[string]time.Time
}

func (p *plain) Emit(e event.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == nil {
		p.last = map[string]time.Time{}
	}
	if e.State == event.Running || e.State == event.Waiting {
		if e.Time.Sub(p.last[e.Step]) < plainEvery {
			return
		}
	}
	p.last[e.Step] = e.Time
	fmt.Fprintf(p.w, "%s %s\n", e.Time.Format("15:04:05"), describe(e))
}

func (*plain) Close() {}

// describe returns an event as a line of text without a time.
func describe(e event.Event) string {
	var b strings.Builder
	text := e.Message
	if e.State == event.Failed {
		text = e.Error
	}
	parts := []string{e.Step, text}
	if e.Unit != "" {
		parts = append(parts, count(e))
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	b.WriteString(mark(e.State) + " " + strings.Join(parts, ": "))
	if e.State != event.Started && e.State != event.Note && !e.Since.IsZero() {
		fmt.Fprintf(&b, " (%s)", Duration(e.Time.Sub(e.Since)))
	}
	return b.String()
}

func mark(s event.State) string {
	switch s {
	case event.Done:
		return "✓"
	case event.Failed:
		return "✗"
	case event.Skipped:
		return "="
	case event.Waiting:
		return "…"
	case event.Note:
		return "·"
	}
	return "•"
}

func count(e event.Event) string {
	show := func(n int64) string {
		if e.Unit == "bytes" {
			return Bytes(n)
		}
		return fmt.Sprint(n)
	}
	unit := ""
	if e.Unit != "bytes" {
		unit = " " + e.Unit
	}
	if e.Total == 0 {
		return show(e.Done) + unit + pace(e)
	}
	return fmt.Sprintf("%s of %s%s, %d %%%s", show(e.Done), show(e.Total), unit, 100*e.Done/e.Total, pace(e))
}

// pace returns the rate of bytes, if it is known, and how long the rest will take.
func pace(e event.Event) string {
	if e.Unit != "bytes" || e.Rate <= 0 {
		return ""
	}
	text := fmt.Sprintf(", %s/s", Bytes(int64(e.Rate)))
	if e.Total > e.Done {
		text += ", " + Duration(time.Duration(float64(e.Total-e.Done)/e.Rate*float64(time.Second))) + " left"
	}
	return text
}

// Duration formats a duration for people: 0.4s, 12s, 3m04s, 2h05m.
func Duration(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// Bytes formats a size in binary units with one decimal: 512 B, 1.5 KiB, 2.0 GiB.
func Bytes(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n)/1024, 0
	for value >= 1024 && unit < 3 {
		value, unit = value/1024, unit+1
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGT"[unit])
}
