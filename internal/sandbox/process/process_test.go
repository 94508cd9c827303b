package process_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/process"
)

func TestTail(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "log")
	if got, err := process.Tail(file, 5); got != "" || err != nil {
		t.Errorf("no file: %q, %v", got, err)
	}
	if err := os.WriteFile(file, []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for lines, want := range map[int]string{0: "one\ntwo\nthree\n", 1: "three", 2: "two\nthree", 9: "one\ntwo\nthree"} {
		if got, err := process.Tail(file, lines); got != want || err != nil {
			t.Errorf("%d lines: %q, %v; want %q", lines, got, err, want)
		}
	}
}

func TestProcesses(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sleep", "60.0625")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := process.Of(cmd.Process.Pid)
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if !p.Runs() || p.Wait(short) {
		t.Errorf("%+v is not seen to run", p)
	}
	if found := process.Find("60.0625"); found != p {
		t.Errorf("found by its argument: %+v, want %+v", found, p)
	}
	if found := process.Find("60.06"); found.Runs() {
		t.Errorf("found by a part of its argument: %+v", found)
	}
	later := process.ID{PID: p.PID, Started: p.Started + "1"}
	later.Kill() // another process that has the number
	if !p.Runs() || later.Runs() {
		t.Error("a process that has the number of another one is ended")
	}
	p.Kill()
	if !p.Wait(t.Context()) || p.Runs() {
		t.Error("it outlives Kill") // also as a zombie, which nobody has reaped yet
	}
	_ = cmd.Wait()
	if (process.ID{}).Runs() || process.Of(0).Runs() {
		t.Error("no process runs")
	}
}
