package target

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/remote"
)

// TestQuestionsAreAskedBesideTheWork: all of them while something else is done, with the error
// of the first in their order; who gives up ends them.
func TestQuestionsAreAskedBesideTheWork(t *testing.T) {
	t.Parallel()
	first, second := errors.New("first"), errors.New("second")
	for name, test := range map[string]struct {
		failing []error
		want    error
	}{"all answer": {[]error{nil, nil, nil}, nil}, "the last fails": {[]error{nil, nil, second}, second}, "two fail": {[]error{nil, first, second}, first}, "none is asked": {nil, nil}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			var here sync.WaitGroup
			here.Add(len(test.failing))
			work := make(chan struct{})
			var questions []func(context.Context) error
			for _, err := range test.failing {
				questions = append(questions, func(ctx context.Context) error {
					here.Done()
					select {
					case <-work:
					case <-ctx.Done():
						t.Error("the work does not begin before the questions end")
					}
					return err
				})
			}
			answer, stop := beside(ctx, questions...)
			here.Wait() // all are asked, and none has ended
			close(work)
			if err := answer(); !errors.Is(err, test.want) {
				t.Errorf("told %v", err)
			}
			stop()
		})
	}
	ended := false
	_, stop := beside(t.Context(), func(ctx context.Context) error { <-ctx.Done(); ended = true; return ctx.Err() })
	if stop(); !ended {
		t.Error("a question goes on after its end")
	}
}

// TestASeedThatIsKeptIsLoggedInToOnce, also by several at the same time; a login that fails is
// tried again, and without keeping it each has its own.
func TestASeedThatIsKeptIsLoggedInToOnce(t *testing.T) {
	t.Parallel()
	target := &Target{}
	release := target.KeepSeed()
	kept := target.kept
	refused := errors.New("refused")
	if _, err := kept.login(func() (*remote.Machine, error) { return nil, refused }); !errors.Is(err, refused) {
		t.Errorf("a refused login: %v", err)
	}
	logins := 0
	login := func() (*remote.Machine, error) { logins++; return &remote.Machine{}, nil }
	var group sync.WaitGroup
	machines := make([]*remote.Machine, 8)
	for i := range machines {
		group.Go(func() {
			m, err := kept.login(login)
			if err != nil {
				t.Error(err)
			}
			machines[i] = m
		})
	}
	group.Wait()
	for _, m := range machines {
		if m == nil || m != machines[0] || m.Close() != nil {
			t.Errorf("another machine: %p", m)
		}
	}
	if logins != 1 {
		t.Errorf("%d logins", logins)
	}
	release()
	if target.kept != nil {
		t.Error("it is kept after its release")
	}
	for range 2 {
		if _, err := target.kept.login(login); err != nil {
			t.Error(err)
		}
	}
	if logins != 3 {
		t.Errorf("%d logins, when nothing is kept", logins)
	}
}
