package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks/engine"
	"github.com/slipway-sh/slipway/stacks/engine/httpstate/statetest"
)

// onServer is an engine with its state on an HTTP server.
func onServer(t *testing.T, o engine.Options, address string) *engine.Engine {
	t.Helper()
	o.Backend, o.Environ = address, statetest.Environ()
	e, err := engine.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestStateOnAServer makes, keeps and removes an environment whose state is in GitLab, and on a
// plain server for Terraform's http backend.
//
// proves: F45
func TestStateOnAServer(t *testing.T) {
	t.Parallel()
	for name, gitlab := range map[string]bool{"GitLab": true, "plain": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, c, folder := statetest.Start(t, gitlab), newCloud(), t.TempDir()
			e := onServer(t, options(c, folder, nil), server.URL)
			plan, err := e.Preview(t.Context(), program("a", "b"))
			if err != nil || plan.Counts[engine.Create] != 2 || server.Document() != nil || server.Locked() {
				t.Fatalf("plan: %+v, %v; the server has %s", plan, err, server.Document())
			}
			up(t, e, "a", "b")
			if text := server.Document(); !bytes.Contains(text, []byte("thing-1")) || bytes.Contains(text, []byte(theSecret)) || server.Locked() {
				t.Errorf("after up (locked: %v) the server has %s", server.Locked(), text)
			}
			if entries, _ := os.ReadDir(folder + "/state"); len(entries) > 0 {
				t.Errorf("a state in the folder, too: %v", entries)
			}
			again := onServer(t, options(c, folder, nil), server.URL)
			if report := up(t, again, "a", "b"); len(report.Changes) != 0 {
				t.Errorf("second up changed %v", report.Changes)
			}
			outputs, err := again.Outputs(t.Context())
			if err != nil || outputs["hidden"] != theSecret {
				t.Errorf("outputs %v, %v", outputs, err)
			}
			if _, err := again.Destroy(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := again.Remove(t.Context()); err != nil || server.Document() != nil || server.Locked() {
				t.Errorf("removed: %v (locked: %v), the server has %s", err, server.Locked(), server.Document())
			}
			if now, made := c.count(); now != 0 || made != 2 {
				t.Errorf("%d things left of %d made", now, made)
			}
		})
	}
}

// TestTheLockOfAServer: the second run is refused and told by whom; `state unlock` removes the
// lock.
//
// proves: F45
func TestTheLockOfAServer(t *testing.T) {
	t.Parallel()
	server, c, folder := statetest.Start(t, true), newCloud(), t.TempDir()
	first := onServer(t, options(c, folder, nil), server.URL)
	up(t, first)
	ended := make(chan error, 1)
	go func() { _, err := first.Up(context.Background(), program("slow")); ended <- err }()
	<-c.began
	second := onServer(t, options(c, folder, nil), server.URL)
	_, err := second.Up(t.Context(), program("a"))
	var locked *engine.Locked
	host, _ := os.Hostname()
	if !errors.As(err, &locked) || len(locked.Holders) != 1 || locked.Holders[0].Host != host || locked.Holders[0].PID == 0 {
		t.Errorf("second run: %v (%+v)", err, locked)
	}
	if _, err := second.Preview(t.Context(), program("a")); err != nil {
		t.Errorf("a plan only reads: %v", err)
	}
	close(c.free)
	if err := <-ended; err != nil || server.Locked() {
		t.Errorf("first run: %v (locked: %v)", err, server.Locked())
	}
	server.Hold(map[string]any{"ID": "5a1d", "Who": "bob@desk", "Created": "2026-11-20T10:00:00Z"})
	if _, err = second.Up(t.Context(), program("a")); !errors.As(err, &locked) || fault.Remedy(err) == "" ||
		!strings.Contains(err.Error(), "bob on desk since") {
		t.Errorf("a lock of Terraform: %v", err)
	}
	if err := second.Unlock(t.Context()); err != nil || server.Locked() {
		t.Errorf("unlock: %v (locked: %v)", err, server.Locked())
	}
	up(t, second, "a")
}

// TestAKilledRunOnAServerIsTakenOver: the next run sees in the lock's ID that its process is
// gone from this machine.
func TestAKilledRunOnAServerIsTakenOver(t *testing.T) {
	t.Parallel()
	server, folder := statetest.Start(t, true), t.TempDir()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), holdFolder+"="+folder, holdServer+"="+server.URL)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatalf("the child did not begin: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if !server.Locked() {
		t.Fatal("the killed run left no lock: this test shows nothing")
	}
	c, events := newCloud(), &event.Recorder{}
	up(t, onServer(t, options(c, folder, events), server.URL), "a", "b")
	if !slices.ContainsFunc(events.Events(), func(e event.Event) bool { return strings.Contains(e.Message, "removed the lock of process") }) {
		t.Errorf("nothing told of the lock: %v", events.Events())
	}
	if report := up(t, onServer(t, options(c, folder, nil), server.URL), "a", "b"); len(report.Changes) != 0 || server.Locked() {
		t.Errorf("not converged: %v (locked: %v)", report.Changes, server.Locked())
	}
}

// TestALockOfAMachineOfTheSameNameStays: of a process that was not started from here nobody can
// tell whether it has ended.
func TestALockOfAMachineOfTheSameNameStays(t *testing.T) {
	t.Parallel()
	server, c, folder := statetest.Start(t, true), newCloud(), t.TempDir()
	e := onServer(t, options(c, folder, nil), server.URL)
	up(t, e, "a")
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	since := time.Now().Add(-time.Hour)
	server.Hold(map[string]any{"ID": fmt.Sprintf("slipway/bob/%s/4194303/%d/5A1D", url.PathEscape(host), since.Unix()), "Who": "bob@" + host, "Created": since.Format(time.RFC3339)})
	var locked *engine.Locked
	if _, err := e.Up(t.Context(), program("a")); !errors.As(err, &locked) || fault.Remedy(err) == "" || !server.Locked() {
		t.Errorf("up: %v (locked: %v)", err, server.Locked())
	}
	if err := e.CheckLock(t.Context()); !errors.As(err, &locked) || !server.Locked() {
		t.Errorf("asked: %v (locked: %v)", err, server.Locked())
	}
	if err := e.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	up(t, e, "a")
	if left, err := filepath.Glob(filepath.Join(folder, "engine", "*", "running-*")); err != nil || len(left) > 0 {
		t.Errorf("notes of processes that have ended: %v, %v", left, err)
	}
}

// TestALockThatCouldNotBeGivenBack is removed by the next run: its process was started from here,
// and has ended.
func TestALockThatCouldNotBeGivenBack(t *testing.T) {
	t.Parallel()
	server, c, folder := statetest.Start(t, false), newCloud(), t.TempDir()
	e := onServer(t, options(c, folder, nil), server.URL)
	up(t, e)
	server.Break(func(w http.ResponseWriter, r *http.Request, _ func(http.ResponseWriter)) bool {
		if r.Method != "UNLOCK" {
			return false
		}
		http.Error(w, "forbidden", http.StatusForbidden)
		return true
	})
	_, err := e.Up(t.Context(), program("a"))
	if !server.Locked() {
		t.Fatalf("the run left no lock: this test shows nothing (%v)", err)
	}
	server.Break(nil)
	up(t, e, "a", "b")
	if server.Locked() {
		t.Error("the lock stayed")
	}
}

// TestFaultsOfAServer: each is told with its remedy, and the next run continues.
//
// proves: F45
func TestFaultsOfAServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault func(*statetest.Server) statetest.Fault
		want  string
	}{
		"login refused":          {func(*statetest.Server) statetest.Fault { return statetest.Answer(401) }, "401 Unauthorized"},
		"locks for two at once":  {func(*statetest.Server) statetest.Fault { return statetest.Lie() }, "gives the lock to two at once"},
		"answers lost, then not": {func(*statetest.Server) statetest.Fault { return statetest.CutWrites(1, true) }, ""},
		"lock taken away meanwhile": {func(s *statetest.Server) statetest.Fault {
			return statetest.AfterWrites(2, func() { s.Hold(map[string]any{"ID": "5a1d", "Who": "eve@desk"}) })
		}, "taken away by eve on desk"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, cloud, folder := statetest.Start(t, false), newCloud(), t.TempDir()
			e := onServer(t, options(cloud, folder, nil), server.URL)
			up(t, e)
			server.Break(c.fault(server))
			_, err := e.Up(t.Context(), program("a", "b"))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || fault.Remedy(err) == "") {
				t.Errorf("%v (remedy %q)", err, fault.Remedy(err))
			}
			if err != nil && strings.Contains(err.Error(), statetest.Password) {
				t.Error("the error has the password")
			}
			server.Break(nil)
			server.Hold(nil)
			up(t, e, "a", "b")
			if report := up(t, e, "a", "b"); len(report.Changes) != 0 {
				t.Errorf("not converged: %v", report.Changes)
			}
		})
	}
}

func TestTwoEnvironmentsNeedTwoAddresses(t *testing.T) {
	t.Parallel()
	server, c, folder := statetest.Start(t, true), newCloud(), t.TempDir()
	up(t, onServer(t, options(c, folder, nil), server.URL), "a")
	o := options(c, folder, nil)
	o.Environment = "other"
	_, err := onServer(t, o, server.URL).Up(t.Context(), program("a"))
	if err == nil || !strings.Contains(err.Error(), `the state of environment "test"`) || fault.Remedy(err) == "" {
		t.Errorf("%v", err)
	}
}
