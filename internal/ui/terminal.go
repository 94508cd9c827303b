package ui

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/printable"
)

// terminal keeps the running steps at the bottom of the screen, and ended steps
// scroll up above them.
type terminal struct {
	mu     sync.Mutex
	w      io.Writer
	width  int
	active []event.Event
	drawn  int
	frame  int
	once   sync.Once
	stop   chan struct{}
	ended  chan struct{}
}

func newTerminal(w io.Writer, width int) *terminal {
	t := &terminal{w: w, width: width, stop: make(chan struct{}), ended: make(chan struct{})}
	go t.spin()
	return t
}

func (t *terminal) spin() {
	defer close(t.ended)
	tick := time.NewTicker(120 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-t.stop:
			return
		case <-tick.C:
			t.mu.Lock()
			t.frame++
			t.draw()
			t.mu.Unlock()
		}
	}
}

// Emit updates the step of the event; an ended step is printed for good.
func (t *terminal) Emit(e event.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.State {
	case event.Done, event.Failed, event.Skipped:
		t.remove(e.Step)
		t.print(describe(e))
	case event.Note:
		t.print(describe(e))
	default:
		t.update(e)
		t.draw()
	}
}

// Close restores the screen. Commands close it before they print, and again when they return.
func (t *terminal) Close() {
	t.once.Do(func() { close(t.stop) })
	<-t.ended
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clear()
}

func (t *terminal) update(e event.Event) {
	for i := range t.active {
		if t.active[i].Step == e.Step {
			if e.Message == "" {
				e.Message = t.active[i].Message
			}
			t.active[i] = e
			return
		}
	}
	t.active = append(t.active, e)
}

func (t *terminal) remove(step string) {
	for i := range t.active {
		if t.active[i].Step == step {
			t.active = append(t.active[:i], t.active[i+1:]...)
			return
		}
	}
}

func (t *terminal) print(line string) {
	t.clear()
	fmt.Fprintln(t.w, line)
	t.draw()
}

func (t *terminal) clear() {
	if t.drawn > 0 {
		fmt.Fprintf(printable.Raw(t.w), "\x1b[%dA\x1b[J", t.drawn)
		t.drawn = 0
	}
}

func (t *terminal) draw() {
	t.clear()
	spinner := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	for _, e := range t.active {
		e.Time = time.Now()
		line := strings.TrimPrefix(describe(e), mark(e.State))
		if e.State == event.Started {
			line += fmt.Sprintf(" (%s)", Duration(e.Time.Sub(e.Since)))
		}
		line = strings.ReplaceAll(line, "\n", " ") // each is cleared as one line
		fmt.Fprintln(t.w, t.fit(string(spinner[t.frame%len(spinner)])+line))
		t.drawn++
	}
}

// fit cuts a line to the width of the screen: a wrapped line would break redrawing.
func (t *terminal) fit(line string) string {
	runes := []rune(line)
	if t.width > 1 && len(runes) >= t.width {
		return string(runes[:t.width-2]) + "…"
	}
	return line
}
