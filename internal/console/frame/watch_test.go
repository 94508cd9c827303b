package frame

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestAFailureIsTriedAgainSooner than a reading that went well, if that is set; else it is not.
func TestAFailureIsTriedAgainSooner(t *testing.T) {
	t.Parallel()
	for name, retry := range map[string]time.Duration{"set": time.Millisecond, "not set": 0} {
		reads := make(chan int, 100)
		n := 0
		w := NewWatch(t.Context(), time.Hour, func(context.Context) (int, error) {
			n++ // one reading at a time
			reads <- n
			if n < 3 {
				return 0, errors.New("not yet")
			}
			return n, nil
		}).RetryAfter(retry)
		looks := map[bool]int{true: 2000, false: 20}[retry > 0]
		for i := 0; i < looks && !w.Look(t.Context()).Known(); i++ {
			time.Sleep(2 * time.Millisecond)
		}
		if want := map[bool]int{true: 3, false: 1}[retry > 0]; len(reads) != want {
			t.Errorf("%s: %d readings, want %d", name, len(reads), want)
		}
		if got := w.Last(); got.Known() != (retry > 0) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestAnOldReadingIsWaitedFor, but not for long; one that is not so old is shown at once.
func TestAnOldReadingIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		age, takes time.Duration
		want       int
	}{
		"old":               {time.Minute, 10 * time.Millisecond, 2},
		"old, and it hangs": {time.Minute, time.Hour, 1},
		"new":               {time.Second, 10 * time.Millisecond, 1},
	} {
		n := 0
		w := NewWatch(t.Context(), time.Millisecond, func(ctx context.Context) (int, error) {
			if n++; n > 1 { // one reading at a time
				select {
				case <-time.After(test.takes):
				case <-ctx.Done():
				}
			}
			return n, nil
		})
		w.Look(t.Context())
		w.mu.Lock()
		w.last.At, w.tried = time.Now().Add(-test.age), time.Time{}
		w.mu.Unlock()
		if got := w.Look(t.Context()); got.Value != test.want {
			t.Errorf("%s: shows reading %d, want %d", name, got.Value, test.want)
		}
	}
}
