package upstream

import (
	"io"
	"sync"
	"time"

	"github.com/slipway-sh/slipway/internal/event"
)

// countEvery bounds how often progress is told.
const countEvery = 200 * time.Millisecond

// tally counts the bytes of one download and tells the steps that wait for it.
type tally struct {
	steps []*event.Step

	mu          sync.Mutex
	done, total int64
	told        time.Time
}

func newTally(parts []*part) *tally {
	t := &tally{}
	for _, one := range parts {
		t.steps = append(t.steps, one.step)
	}
	return t
}

// set says where the count stands; total 0 means unknown.
func (t *tally) set(done, total int64) {
	t.mu.Lock()
	t.done, t.total, t.told = done, total, time.Now()
	t.mu.Unlock()
	t.tell(done, total)
}

func (t *tally) add(n int64) {
	t.mu.Lock()
	t.done += n
	done, total := t.done, t.total
	due := time.Since(t.told) >= countEvery || done == total
	if due {
		t.told = time.Now()
	}
	t.mu.Unlock()
	if due {
		t.tell(done, total)
	}
}

func (t *tally) tell(done, total int64) {
	for _, step := range t.steps {
		step.Count(done, total, "bytes")
	}
}

func (t *tally) say(message string) {
	for _, step := range t.steps {
		step.Run(message)
	}
}

func (t *tally) wait(message string) {
	for _, step := range t.steps {
		step.Wait(message)
	}
}

// counted reads and counts.
type counted struct {
	io.ReadCloser
	tally *tally
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	c.tally.add(int64(n))
	return n, err
}
