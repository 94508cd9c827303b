package httpstate

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/stateurl"
	"github.com/slipway-sh/slipway/stacks/engine/httpstate/statetest"
)

func client(t *testing.T, s *statetest.Server) *Client {
	t.Helper()
	c, err := New(s.URL, statetest.Environ())
	if err != nil {
		t.Fatal(err)
	}
	c.pause = time.Millisecond
	return c
}

// written is a client that holds the lock and has written once.
func written(t *testing.T, s *statetest.Server) (*Client, string) {
	t.Helper()
	c := client(t, s)
	lock, err := c.Lock(t.Context(), Holder{"ann", "laptop", 42, time.Unix(1000, 0)})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Write(t.Context(), lock, "prod", []byte(`{"n":1}`)); err != nil {
		t.Fatal(err)
	}
	return c, lock
}

// TestLocksExclude: the second is told who holds the lock, by the servers of both kinds.
//
// proves: F45
func TestLocksExclude(t *testing.T) {
	t.Parallel()
	for name, gitlab := range map[string]bool{"plain": false, "GitLab": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := statetest.Start(t, gitlab)
			c, lock := written(t, s)
			_, err := client(t, s).Lock(t.Context(), ThisProcess())
			var locked *Locked
			if !errors.As(err, &locked) || locked.Holder != (Holder{"ann", "laptop", 42, time.Unix(1000, 0)}) {
				t.Fatalf("the second run: %v (%+v)", err, locked)
			}
			if err := client(t, s).Write(t.Context(), "", "prod", []byte(`{"n":9}`)); err == nil {
				t.Error("somebody wrote without the lock")
			}
			if err := c.Unlock(t.Context(), lock); err != nil || s.Locked() {
				t.Errorf("unlocking: %v", err)
			}
			if _, err := client(t, s).Lock(t.Context(), ThisProcess()); err != nil {
				t.Errorf("after that: %v", err)
			}
		})
	}
}

// TestAnEndedRunGivesBackTheLock that it took to look, or to see whether locks exclude.
func TestAnEndedRunGivesBackTheLock(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		method string
		nth    int // of these requests, during which the run is ended
		do     func(context.Context, *Client) error
	}{
		"beginning to look": {"LOCK", 1, func(ctx context.Context, c *Client) error { _, err := c.Held(ctx, ThisProcess()); return err }},
		"beginning to lock": {"LOCK", 1, func(ctx context.Context, c *Client) error { _, err := c.Lock(ctx, ThisProcess()); return err }},
		"looking":           {"UNLOCK", 1, func(ctx context.Context, c *Client) error { _, err := c.Held(ctx, ThisProcess()); return err }},
		"locking":           {"LOCK", 2, func(ctx context.Context, c *Client) error { _, err := c.Lock(ctx, ThisProcess()); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := statetest.Start(t, false)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var seen atomic.Int32
			s.Break(func(w http.ResponseWriter, r *http.Request, serve func(http.ResponseWriter)) bool {
				if r.Method != test.method || int(seen.Add(1)) != test.nth {
					return false
				}
				if test.method == "LOCK" {
					serve(httptest.NewRecorder()) // its answer is lost
				}
				cancel()
				http.Error(w, "ended", http.StatusServiceUnavailable)
				return true
			})
			err := test.do(ctx, client(t, s))
			if s.Locked() {
				t.Errorf("the lock stayed: %v", err)
			}
		})
	}
}

// TestALockOfTerraformIsNotTaken: its holder is told, and it is never taken for a dead process of
// this machine.
func TestALockOfTerraformIsNotTaken(t *testing.T) {
	t.Parallel()
	s := statetest.Start(t, false)
	s.Hold(map[string]any{"ID": "5a1d", "Who": "bob@desk", "Created": "2026-11-20T10:00:00Z"})
	_, err := client(t, s).Lock(t.Context(), ThisProcess())
	var locked *Locked
	if !errors.As(err, &locked) || locked.Holder.User != "bob" || locked.Holder.Host != "desk" || locked.Holder.PID != 0 {
		t.Errorf("%v (%+v)", err, locked)
	}
}

// TestAServerThatGivesALockToTwoIsRefused: before anything is written.
func TestAServerThatGivesALockToTwoIsRefused(t *testing.T) {
	t.Parallel()
	s := statetest.Start(t, false)
	s.Break(statetest.Lie())
	_, err := client(t, s).Lock(t.Context(), ThisProcess())
	if err == nil || !strings.Contains(err.Error(), "gives the lock to two at once") {
		t.Errorf("%v", err)
	}
}

// TestWhatAnotherWroteIsNotOverwritten: the server lost the lock, and another run went on.
func TestWhatAnotherWroteIsNotOverwritten(t *testing.T) {
	t.Parallel()
	s := statetest.Start(t, false)
	c, lock := written(t, s)
	s.Hold(nil)
	other := client(t, s)
	if _, _, err := other.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := other.Write(t.Context(), "", "prod", []byte(`{"n":7}`)); err != nil {
		t.Fatal(err)
	}
	s.Hold(map[string]any{"ID": lock}) // the server believes the first again
	err := c.Write(t.Context(), lock, "prod", []byte(`{"n":2}`))
	if err == nil || !strings.Contains(err.Error(), "another run wrote it meanwhile") || !strings.Contains(string(s.Document()), `{"n":7}`) {
		t.Errorf("%v; the server has %s", err, s.Document())
	}
}

// TestALockThatWasTakenAwayEndsWriting names who has it now.
func TestALockThatWasTakenAwayEndsWriting(t *testing.T) {
	t.Parallel()
	s := statetest.Start(t, true)
	c, lock := written(t, s)
	s.Hold(map[string]any{"ID": Holder{"eve", "other", 7, time.Unix(5, 0)}.id()})
	err := c.Write(t.Context(), lock, "prod", []byte(`{"n":2}`))
	if err == nil || !strings.Contains(err.Error(), "the lock was taken away by eve on other") {
		t.Errorf("%v", err)
	}
}

// TestLostAnswers: a write whose answer was lost is done once, whether the server had done it or
// not; GitLab would refuse the same version a second time.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]statetest.Fault{
		"done": statetest.CutWrites(1, true), "not done": statetest.CutWrites(2, false), "lock": statetest.CutLocks(1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := statetest.Start(t, true)
			s.Break(fault)
			c, lock := written(t, s)
			if err := c.Write(t.Context(), lock, "prod", []byte(`{"a":"<b>"}`)); err != nil {
				t.Fatal(err)
			}
			environment, checkpoint, err := client(t, s).Read(t.Context())
			if err != nil || environment != "prod" || string(checkpoint) != `{"a":"\u003cb\u003e"}` {
				t.Errorf("%s %s %v", environment, checkpoint, err)
			}
			if err := c.Unlock(t.Context(), lock); err != nil || s.Locked() {
				t.Errorf("a lock is left: %v", err)
			}
		})
	}
}

func TestAConnectionThatStaysLostIsTold(t *testing.T) {
	t.Parallel()
	s := statetest.Start(t, true)
	c, lock := written(t, s)
	s.Break(statetest.CutWrites(attempts, false))
	err := c.Write(t.Context(), lock, "prod", []byte(`{"n":2}`))
	if err == nil || !strings.Contains(err.Error(), "EOF") || !strings.Contains(err.Error(), "it continues") {
		t.Errorf("%v", err)
	}
	if strings.Contains(err.Error(), statetest.Password) {
		t.Error("the error has the password")
	}
}

// TestAnswersHaveACauseAndARemedy: each one survives the way through the engine's output.
func TestAnswersHaveACauseAndARemedy(t *testing.T) {
	t.Parallel()
	for status, remedy := range map[int]string{
		http.StatusUnauthorized: stateurl.PasswordVariable, http.StatusForbidden: "Maintainer", http.StatusMovedPermanently: "redirects",
		http.StatusServiceUnavailable: "it continues", http.StatusBadRequest: "spec.state.backend",
	} {
		s := statetest.Start(t, false)
		s.Break(statetest.Answer(status))
		_, _, err := client(t, s).Read(t.Context())
		failed, told := Told("error: could not list bucket: blob (code=Unknown): " + err.Error() + "\n")
		if !told || failed.Address != s.URL || !strings.Contains(failed.Remedy, remedy) || !strings.Contains(failed.Err.Error(), http.StatusText(status)) {
			t.Errorf("%d: %v → %+v", status, err, failed)
		}
	}
}

func TestAServerWithoutLocksIsRefused(t *testing.T) {
	t.Parallel()
	s := statetest.Start(t, true)
	s.URL = strings.Replace(s.URL, "/api/v4", "/proxied/api/v4x", 1) // no longer GitLab's, so LOCK is sent
	_, err := client(t, s).Lock(t.Context(), ThisProcess())
	if err == nil || !strings.Contains(err.Error(), "the server has no locks") {
		t.Errorf("%v", err)
	}
}

func TestForeignDocumentsAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"version":4,"terraform_version":"1.9","resources":[]}`: "another program's state is there",
		`<html>log in</html>`:           "this is not a state",
		`{"slipway":2,"checkpoint":{}}`: "newer than this Slipway",
	} {
		s := statetest.Start(t, false)
		s.Put(text)
		if _, _, err := client(t, s).Read(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
