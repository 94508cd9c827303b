package images

import (
	"io"
	"time"

	"github.com/slipway-sh/slipway/internal/event"
)

// meterEvery is the interval between two progress events.
const meterEvery = 200 * time.Millisecond

// meter tells how many bytes were read, unless another tells it: then step is
// nil.
type meter struct {
	r     io.Reader
	total int64
	step  *event.Step
	done  int64
	begun time.Time
	told  time.Time
}

func (m *meter) Read(p []byte) (int, error) {
	if m.begun.IsZero() {
		m.begun, m.told = time.Now(), time.Now()
	}
	n, err := m.r.Read(p)
	m.done += int64(n)
	if m.step == nil {
		return n, err
	}
	if now := time.Now(); now.Sub(m.told) >= meterEvery {
		m.told = now
		m.step.Flow(m.done, max(m.total, 0), float64(m.done)/now.Sub(m.begun).Seconds())
	}
	return n, err
}
