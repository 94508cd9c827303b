package cloud

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// clock compares the Date of answers with our own time.
type clock struct {
	below http.RoundTripper
	now   func() time.Time

	mu     sync.Mutex
	offset time.Duration
	known  bool
}

// discovery bounds calls without a context: gophercloud asks for the versions of a service
// when its client is made, and cannot be told to end that.
const discovery = 10 * time.Second

// answered marks the calls of listings with what is set once their service answers.
type answered struct{}

// RoundTrip makes the call. Date has whole seconds and is written during the call,
// so a difference of up to a second plus the call's duration is ignored.
func (c *clock) RoundTrip(request *http.Request) (*http.Response, error) {
	stop := func() {}
	if request.Context().Done() == nil {
		ctx, cancel := context.WithCancel(request.Context())
		timer := time.AfterFunc(discovery, cancel) // until the answer begins
		request, stop = request.WithContext(ctx), func() { timer.Stop() }
	}
	before := c.now()
	response, err := c.below.RoundTrip(request)
	stop()
	if err != nil {
		return nil, err
	}
	if heard, ok := request.Context().Value(answered{}).(*atomic.Bool); ok && response.StatusCode < http.StatusInternalServerError {
		heard.Store(true)
	}
	if date, parseErr := http.ParseTime(response.Header.Get("Date")); parseErr == nil {
		c.note(date, before, c.now())
	}
	return response, nil
}

// CloseIdleConnections lets http.Client close its transport's connections.
func (c *clock) CloseIdleConnections() {
	if below, ok := c.below.(interface{ CloseIdleConnections() }); ok {
		below.CloseIdleConnections()
	}
}

func (c *clock) note(date, before, after time.Time) {
	var offset time.Duration
	switch {
	case date.After(after):
		offset = date.Sub(after)
	case date.Add(time.Second).Before(before):
		offset = date.Add(time.Second).Sub(before)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known || offset.Abs() < c.offset.Abs() {
		c.offset, c.known = offset, true
	}
}

// ClockOffset is how much the cloud's clock is ahead of ours, judged by its answers;
// 0 if the clocks agree.
func (c *Cloud) ClockOffset() time.Duration {
	c.clock.mu.Lock()
	defer c.clock.mu.Unlock()
	return c.clock.offset
}
