package frame

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/slipway-sh/slipway/internal/console/words"
)

// Reading is what was read last. A page shows it however old it is, and says so.
type Reading[T any] struct {
	Value T
	// At is when Value was read; zero if it never was.
	At time.Time
	// Err is why a later reading failed.
	Err error
	// Again is set while it is read once more.
	Again bool
}

// Known reports whether there is a value.
func (r Reading[T]) Known() bool { return !r.At.IsZero() }

// Watch reads a source when somebody looks and the last reading is old, one reading at a
// time. Who looks waits only for the first one, and for the first after a long time, and not long.
type Watch[T any] struct {
	ctx  context.Context // as long as the console
	read func(context.Context) (T, error)
	// every is how old a reading may be, limit how long one may take.
	every, limit time.Duration
	// retry is how long after a failure it is read again; 0 is every.
	retry time.Duration

	mu      sync.Mutex
	last    Reading[T]
	tried   time.Time
	reading chan struct{} // closed when the reading ends; nil if none is under way
}

// NewWatch returns a Watch that works as long as ctx; every is how old a reading may be.
func NewWatch[T any](ctx context.Context, every time.Duration, read func(context.Context) (T, error)) *Watch[T] {
	return &Watch[T]{ctx: ctx, read: read, every: every, limit: longest}
}

// Within sets how long one reading may take, and returns the Watch.
func (w *Watch[T]) Within(limit time.Duration) *Watch[T] {
	w.limit = limit
	return w
}

// RetryAfter sets how long after a failure it is read again, and returns the Watch.
func (w *Watch[T]) RetryAfter(retry time.Duration) *Watch[T] {
	w.retry = retry
	return w
}

const (
	// longest is how long one reading may take.
	longest = 90 * time.Second
	// patience is how long a page waits for the first reading, or for one after a long time.
	patience = 700 * time.Millisecond
	// aged is how old a reading is that a page does not show if there is a newer one in time:
	// behind a load balancer it may be from before what the reader has just done elsewhere.
	aged = 30 * time.Second
)

// Look returns what is known, and has it read again if it is old.
func (w *Watch[T]) Look(ctx context.Context) Reading[T] {
	w.mu.Lock()
	every := w.every
	if w.last.Err != nil && w.retry > 0 {
		every = w.retry
	}
	if w.reading == nil && time.Since(w.tried) >= every {
		w.reading = make(chan struct{})
		go w.again(w.reading)
	}
	last, reading := w.last, w.reading
	last.Again = reading != nil
	w.mu.Unlock()
	if reading == nil || last.Known() && time.Since(last.At) < aged || last.Err != nil {
		return last
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-reading:
	case <-timer.C:
	case <-ctx.Done():
	}
	return w.Last()
}

// Last returns what is known, and has nothing read.
func (w *Watch[T]) Last() Reading[T] {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := w.last
	last.Again = w.reading != nil
	return last
}

// again reads once. A panic in a source must not end the console.
func (w *Watch[T]) again(done chan struct{}) {
	ctx, cancel := context.WithTimeoutCause(w.ctx, w.limit, failure{why: words.T("no answer within %s", w.limit.String())})
	defer cancel()
	value, err := guarded(ctx, w.read)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.last.Err = err
	} else {
		w.last = Reading[T]{Value: value, At: time.Now()}
	}
	w.tried, w.reading = time.Now(), nil
	close(done)
}

func guarded[T any](ctx context.Context, read func(context.Context) (T, error)) (value T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = failure{why: words.T("reading failed: %s", fmt.Sprint(p))}
		}
	}()
	value, err = read(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		why := words.Said(cause.Error())
		if ours, ok := cause.(failure); ok {
			why = ours.why
		}
		err = failure{why: words.List(": ", why, words.Said(err.Error())), of: err}
	}
	return value, err
}

// failure is why a reading came to nothing that we know ourselves.
type failure struct {
	why words.Text
	of  error
}

// Error is the failure in English.
func (f failure) Error() string { return f.why.String() }

// Unwrap is what the source says.
func (f failure) Unwrap() error { return f.of }

// Why implements words.Says.
func (f failure) Why() words.Text { return f.why }

// Remedy implements words.Says.
func (failure) Remedy() words.Text { return nil }

// Stale makes the next look read again.
func (w *Watch[T]) Stale() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tried = time.Time{}
}

// Family is a Watch for each of many keys, such as clusters. Those that nobody looked at for
// the longest are forgotten.
type Family[T any] struct {
	most int
	make func(key string) *Watch[T]

	mu      sync.Mutex
	members map[string]*Watch[T]
	order   []string
}

// NewFamily returns one of at most so many members.
func NewFamily[T any](most int, create func(key string) *Watch[T]) *Family[T] {
	return &Family[T]{most: most, make: create, members: map[string]*Watch[T]{}}
}

// Of is the Watch of a key.
func (f *Family[T]) Of(key string) *Watch[T] {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, k := range f.order {
		if k == key {
			f.order = append(append(f.order[:i:i], f.order[i+1:]...), key)
			return f.members[key]
		}
	}
	if len(f.order) >= f.most {
		delete(f.members, f.order[0])
		f.order = f.order[1:]
	}
	f.members[key] = f.make(key)
	f.order = append(f.order, key)
	return f.members[key]
}

// Each calls do for every member.
func (f *Family[T]) Each(do func(*Watch[T])) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, member := range f.members {
		do(member)
	}
}
