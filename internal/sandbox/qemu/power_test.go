package qemu

import (
	"context"
	"errors"
	"os/exec"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/process"
)

// A guest that switches itself off while the sandbox ends is not killed on the way: the
// end of the sandbox asks it once more, and waits.
func TestStopThatTheEndOfTheSandboxInterrupts(t *testing.T) {
	t.Parallel()
	d := offline(t)
	d.haltTime = time.Minute
	s, _ := d.Load("one") // it has no record yet
	if err := s.Make(t.Context(), machine.Spec{ID: "one", Image: image(t)}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	s.Process = process.Of(cmd.Process.Pid)
	if err := s.save(); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Stop(ended, "one"); !errors.Is(err, context.Canceled) || !s.Process.Runs() {
		t.Errorf("it runs: %t, %v", s.Process.Runs(), err)
	}
	late, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	if err := s.Release(late, true); err != nil || s.Process.Runs() {
		t.Errorf("it outlives the end of the sandbox: %v", err)
	}
}

// A paused guest switches itself off at the end of the sandbox, which does not wait in
// vain for one that cannot see the power button.
func TestStopOfAPausedMachine(t *testing.T) {
	t.Parallel()
	d := offline(t)
	d.haltTime = 10 * time.Minute
	s, _ := d.Load("one") // it has no record yet
	if err := s.Make(t.Context(), machine.Spec{ID: "one", Image: image(t)}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	s.Process = process.Of(cmd.Process.Pid)
	pressed := make(chan bool, 1)
	guest := &standIn{button: func() {
		pressed <- true
		_ = cmd.Process.Kill()
	}}
	guest.listen(t, s.socket())
	limit, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.Release(limit, true); err != nil || len(pressed) != 1 || s.Process.Runs() {
		t.Errorf("it saw the button: %t, it runs: %t, %v", len(pressed) == 1, s.Process.Runs(), err)
	}
}
