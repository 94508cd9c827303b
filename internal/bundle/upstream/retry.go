package upstream

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// attempts is how often something that makes no progress is tried.
	attempts = 5
	// progressEnough is how many bytes more than ever before make an attempt
	// count as progress, so that a large file comes through a line that breaks
	// now and then, and a server that sends the same start forever ends.
	progressEnough = 1 << 20
	// longestPause is the longest wait for a server; one that asks for more fails.
	longestPause = 2 * time.Minute
)

// retry repeats an attempt after transient errors. The attempt returns how
// many bytes are there after it. Before each pause, wait is told what for.
func (p *puller) retry(ctx context.Context, wait func(string), attempt func() (int64, error)) error {
	failures, best := 0, int64(0)
	for {
		have, err := attempt()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !transient(err) {
			return err
		}
		if have >= best+progressEnough {
			best, failures = have, 0
		}
		failures++
		pause := p.pause(failures, err)
		if failures >= attempts || pause > longestPause {
			return fmt.Errorf("giving up after %d attempts: %w", failures, err)
		}
		wait(fmt.Sprintf("%v; retrying in %s", err, pause.Round(time.Millisecond)))
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// pause is how long to wait after so many failures: what the server asks for,
// or the doubled backoff with up to a quarter more, so that many machines that
// failed together do not come back together.
func (p *puller) pause(failures int, err error) time.Duration {
	var status *statusError
	if errors.As(err, &status) && status.after > 0 {
		return status.after
	}
	pause := min(p.Backoff<<(failures-1), longestPause/4)
	return pause + rand.N(pause/4+1)
}
