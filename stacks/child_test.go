package stacks_test

import (
	"context"
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
)

// child runs `up` and kills itself with SIGKILL at the worst moment: when the
// cloud has answered the call that childCall counts, of those that change
// something, and nothing is written down yet.
func child() int {
	at, _ := strconv.Atoi(os.Getenv(childCall))
	w, err := open(context.Background(), os.Getenv(childURL), os.Getenv(childPassword), os.Getenv(childFolder), plain)
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		return 3
	}
	w.clients.calls.reset()
	w.clients.calls.changed = func(n int) {
		if n >= at {
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

// killed runs a child that is killed at a call; false says that it came to its
// end before.
func killed(t *testing.T, cloud *sandboxtest.Cloud, folder string, call int) bool {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childFolder+"="+folder, childURL+"="+cloud.URL(), childPassword+"="+cloud.Passwords().Demo, childCall+"="+strconv.Itoa(call))
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
// one to four changes each time: every run goes on from what the last one left.
func TestKilledRunsConverge(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	w := newWorld(t, cloud, plain)
	kills := 0
	for killed(t, cloud, w.folder, 1+kills%4) {
		if kills++; kills > 80 {
			t.Fatal("it never comes to its end")
		}
	}
	t.Logf("%d runs were killed", kills)
	if kills < 6 { // what is made beside the last change counts, too
		t.Errorf("only %d runs were killed", kills)
	}
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
