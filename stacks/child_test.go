package stacks_test

import (
	"context"
	"math"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks"
)

// The environment of a child that is this test's binary and runs `up` until it
// kills itself.
const (
	childFolder   = "SLIPWAY_TEST_CHILD"
	childURL      = "SLIPWAY_TEST_URL"
	childPassword = "SLIPWAY_TEST_PASSWORD"
	childCall     = "SLIPWAY_TEST_CALL"
	childChange   = "SLIPWAY_TEST_CHANGE"
	// childImage is what the seed's image is to be; empty is that of open.
	childImage = "SLIPWAY_TEST_IMAGE"
)

// child runs `up` and kills itself with SIGKILL at the worst moment: when the
// cloud has answered the call that childCall counts, or that childChange counts of
// those that change something, and nothing is written down yet.
func child() int {
	call, change := count(childCall), count(childChange)
	w, err := open(context.Background(), os.Getenv(childURL), os.Getenv(childPassword), os.Getenv(childFolder), plain)
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		return 3
	}
	if content := os.Getenv(childImage); content != "" {
		if err := w.newer(content); err != nil {
			return 3
		}
	}
	w.clients.calls.reset()
	w.clients.calls.answered = func(all, changes int) {
		if all >= call || changes >= change {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // until the signal is there
		}
	}
	e, err := w.engine()
	if err != nil {
		return 3
	}
	if _, err := e.Up(context.Background(), w.env.Program); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		return 4
	}
	return 0
}

// count is a number in the environment; none is never reached.
func count(variable string) int {
	n, err := strconv.Atoi(os.Getenv(variable))
	if err != nil {
		return math.MaxInt
	}
	return n
}

// killed runs a child that is killed at the count of a variable; false says that
// it came to its end before.
func killed(t *testing.T, cloud *sandboxtest.Cloud, folder, variable string, at int, more ...string) bool {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childFolder+"="+folder, childURL+"="+cloud.URL(), childPassword+"="+cloud.Passwords().Demo, variable+"="+strconv.Itoa(at))
	cmd.Env = append(cmd.Env, more...)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return false
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Fatalf("the child ended by itself: %v\n%s", err, out)
	}
	return true
}

// TestKilledRunsConverge kills `up` again and again in one environment, after
// some changes or some calls each time: every run goes on from what the last one
// left. The second way has some twenty points more than the first and takes a
// minute: `make proofs` goes it.
func TestKilledRunsConverge(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		variable string
		at       func(kills int) int
		// least is how many kills there are at the least, so that this proves
		// something: how much is done beside the last call depends on how busy the
		// machine is, and the number of kills with it.
		least int
	}{
		"after changes": {childChange, func(kills int) int { return 1 + kills%4 }, 4},
		"after calls":   {childCall, func(kills int) int { return 5 + 2*(kills%9) }, 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.variable == childCall && os.Getenv("SLIPWAY_PROOFS") == "" {
				t.Skip("set SLIPWAY_PROOFS=1")
			}
			cloud := sandboxtest.Start(t)
			w := newWorld(t, cloud, plain)
			kills := 0
			for killed(t, cloud, w.folder, test.variable, test.at(kills)) {
				if kills++; kills > 80 {
					t.Fatal("it never comes to its end")
				}
			}
			t.Logf("%d runs were killed", kills)
			if kills < test.least {
				t.Errorf("only %d runs were killed", kills)
			}
			w.converged(t)
		})
	}
}

// converged says that everything is there once, nothing is to be done, and that
// all of it goes.
func (w *world) converged(t *testing.T) {
	t.Helper()
	if report := w.up(t); len(report.Changes) != 0 {
		t.Errorf("not converged: %v", report.Changes)
	}
	for _, step := range []string{stacks.StepNetwork, stacks.StepSubnet, stacks.StepRouter, stacks.StepAccess, stacks.StepKeyPair, stacks.StepImage,
		stacks.StepPort, stacks.StepAddress, stacks.StepData, stacks.StepCredential, stacks.StepSeed} {
		w.only(t, step)
	}
	if _, err := w.run(t).Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := w.things(t); len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
}
