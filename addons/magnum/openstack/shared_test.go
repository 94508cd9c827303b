package openstack

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-sh/slipway/addons/magnum/keystone"
)

// counter is a call to the cloud that takes a second and answers how often it
// was made.
type counter struct{ calls atomic.Int64 }

func (c *counter) call(context.Context) (int64, error) {
	n := c.calls.Add(1)
	time.Sleep(time.Second)
	return n, nil
}

func token(id string) *keystone.Token { return &keystone.Token{ID: id} }

// A question that comes while an equal one is under way is not answered by that
// one: what it asks about may have changed since.
func TestAnswersAreNotOlder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cloud, counted := &Cloud{}, &counter{}
		answers := make(chan int64, 16)
		put := func(id string) {
			got, err := ask(t.Context(), cloud, token(id), "image", counted.call)
			if err != nil {
				t.Error(err)
			}
			answers <- got
		}
		go put("a")
		time.Sleep(time.Second / 2)
		for range 10 {
			go put("a")
		}
		synctest.Wait()
		go put("b")
		time.Sleep(3 * time.Second)
		seen := map[int64]int{}
		for range 12 {
			seen[<-answers]++
		}
		if seen[1] != 1 || seen[2]+seen[3] != 11 || max(seen[2], seen[3]) != 10 {
			t.Errorf("calls by answers: %v; want one, ten that share the next, and one of another token", seen)
		}
		synctest.Wait()
		if len(cloud.shared.running) != 0 {
			t.Errorf("still running: %v", cloud.shared.running)
		}
	})
}

// Who goes leaves the call to those who wait for it too.
func TestWhoGoesLeavesTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cloud, counted := &Cloud{}, &counter{}
		ctx, cancel := context.WithCancel(t.Context())
		go cloud.wait(t.Context(), counted)
		synctest.Wait()
		first := make(chan error, 1)
		go func() { first <- cloud.wait(ctx, counted) }()
		synctest.Wait()
		second := make(chan error, 1)
		go func() { second <- cloud.wait(t.Context(), counted) }()
		synctest.Wait()
		cancel()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("who went: %v", err)
		}
		if err := <-second; err != nil || counted.calls.Load() != 2 {
			t.Errorf("who stayed: %v after %d calls", err, counted.calls.Load())
		}
	})
}

func (c *Cloud) wait(ctx context.Context, counted *counter) error {
	_, err := ask(ctx, c, token("a"), "image", counted.call)
	return err
}

// A service that hangs is given up, for all who wait.
func TestCallsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := ask(t.Context(), &Cloud{}, token("a"), "image", func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, failed("image", ctx.Err())
		})
		if !errors.Is(err, ErrUnavailable) || time.Since(began) != callTime {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// A burst of questions to a cloud that answers at once is some calls, not one
// each; a question alone does not wait.
func TestBurstsArePaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cloud, calls := &Cloud{}, 0
		call := func(context.Context) (time.Time, error) {
			calls++ // never two at once
			began := time.Now()
			time.Sleep(time.Millisecond)
			return began, nil
		}
		for range 100 {
			go func() {
				asked := time.Now()
				began, err := ask(t.Context(), cloud, token("a"), "image", call)
				if err != nil || began.Before(asked) {
					t.Errorf("asked %s, answered by a call of %s: %v", asked, began, err)
				}
			}()
			time.Sleep(time.Millisecond)
		}
		time.Sleep(2 * pause)
		synctest.Wait()
		if calls < 4 || calls > 6 {
			t.Errorf("%d calls for 100 questions in a tenth of a second", calls)
		}
		before := time.Now()
		if _, err := ask(t.Context(), cloud, token("a"), "image", call); err != nil || time.Since(before) != time.Millisecond {
			t.Errorf("a question alone took %s: %v", time.Since(before), err)
		}
		time.Sleep(pause) // nothing runs on after it
	})
}
