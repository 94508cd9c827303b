package fence

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
)

// UsualEvery is how often a process looks at the fence, and UsualPatience for how long
// the last look that found it open counts when the cloud does not answer.
const (
	UsualEvery    = 30 * time.Second
	UsualPatience = 2 * time.Minute
)

// lookTime bounds one look.
const lookTime = 10 * time.Second

// Watch looks at the fence for all controllers of a process. Until the first look has
// found it open, nothing may be written.
type Watch struct {
	// Read reads the generation in the cloud (Fence.Generation).
	Read func(context.Context) (int, error)
	// Ours is the generation of this management cluster. One that has none yet takes
	// part in that of the cloud, which is given.
	Ours func(ctx context.Context, cloud int) (int, error)
	// Every and Patience are UsualEvery and UsualPatience unless set.
	Every, Patience time.Duration
	// Changed receives the state after the first look, and whenever it opens or closes.
	Changed func(State)

	mu     sync.Mutex
	state  State
	told   bool
	opened time.Time
}

// State is what the last look found.
type State struct {
	// Open says that this management cluster may write.
	Open bool
	// Err is why it may not, or why the last look found nothing.
	Err error
	// Ours and Cloud are generations as far as they are known; Read is when that of the
	// cloud was read last.
	Ours, Cloud int
	Read        time.Time
}

// errUnread is the cause until a look succeeds.
var errUnread = errors.New("the fence of the environment has not been read yet")

// ErrBegins is the cause before the first look has ended: it passes in a moment.
var ErrBegins = fmt.Errorf("%w: the first look has not ended", errUnread)

// Run looks regularly until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	tick := time.NewTicker(orElse(w.Every, UsualEvery))
	defer tick.Stop()
	for {
		w.Look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Look looks once.
func (w *Watch) Look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	cloud, ours, err := w.look(ctx)
	w.mu.Lock()
	if errors.Is(w.state.Err, ErrFenced) && w.state.Cloud > w.state.Ours && err != nil {
		err = w.state.Err // who was replaced stays so, whatever the cloud answers now
	}
	now := time.Now()
	if cloud >= 0 {
		w.state.Cloud, w.state.Read = cloud, now
	}
	if ours >= 0 {
		w.state.Ours = ours
	}
	if w.state.Err = err; err == nil {
		w.opened = now
	}
	was := w.state.Open
	w.state.Open = w.closed(now) == nil
	state, tell := w.state, !w.told || was != w.state.Open
	w.told = true
	w.mu.Unlock()
	if tell && w.Changed != nil {
		w.Changed(state)
	}
}

// look reads both generations; -1 is one that is not known. A rebuild notes its
// generation on the cluster before it takes it in the cloud, so that ours is read again
// before it counts as the older one.
func (w *Watch) look(ctx context.Context) (cloud, ours int, err error) {
	cloud, err = w.Read(ctx)
	if err != nil {
		return -1, -1, refused(err)
	}
	for range 2 {
		if ours, err = w.Ours(ctx, cloud); err != nil {
			return cloud, -1, err
		}
		if cloud <= ours {
			return cloud, ours, nil
		}
	}
	return cloud, ours, fmt.Errorf("%w: its generation is %d, ours is %d", ErrFenced, cloud, ours)
}

// refused makes ErrFenced of answers that a rebuild is the cause of: it revokes the
// credential, or the environment is gone. Who is refused writes nothing from then on.
func refused(err error) error {
	for _, code := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound} {
		if gophercloud.ResponseCodeIs(err, code) {
			return fmt.Errorf("%w, or its credential was revoked: %w", ErrFenced, err)
		}
	}
	if errors.Is(err, errNoGroup) {
		return fmt.Errorf("%w, or it is gone: %w", ErrFenced, err)
	}
	return err
}

// Allowed is nil while this management cluster may write. It asks nobody.
func (w *Watch) Allowed(context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed(time.Now())
}

func (w *Watch) closed(now time.Time) error {
	patience := orElse(w.Patience, UsualPatience)
	switch {
	case errors.Is(w.state.Err, ErrFenced):
		return w.state.Err
	case w.opened.IsZero() && w.state.Err == nil:
		return ErrBegins
	case w.opened.IsZero():
		return fmt.Errorf("%w: %w", errUnread, w.state.Err)
	case now.Sub(w.opened) > patience:
		return fmt.Errorf("the fence of the environment could not be read for more than %s: %w", patience, w.state.Err)
	}
	return nil
}

// State is what the last look found. Open is as of now.
func (w *Watch) State() State {
	w.mu.Lock()
	defer w.mu.Unlock()
	state := w.state
	if err := w.closed(time.Now()); err != nil {
		state.Open, state.Err = false, err
	}
	return state
}

// Wrap is a transport that writes only while it is allowed.
func (w *Watch) Wrap(below http.RoundTripper) http.RoundTripper {
	return &Guard{Below: below, Check: w.Allowed}
}

func orElse(d, usual time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return usual
}
