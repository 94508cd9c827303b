package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks/engine"
	"github.com/slipway-sh/slipway/stacks/engine/httpstate/statetest"
)

func up(t *testing.T, e *engine.Engine, labels ...string) engine.Report {
	t.Helper()
	report, err := e.Up(t.Context(), program(labels...))
	if err != nil {
		t.Fatalf("up: %v", err)
	}
	return report
}

func TestUpConvergesAndDestroyLeavesNothing(t *testing.T) {
	t.Parallel()
	c, folder, events := newCloud(), t.TempDir(), &event.Recorder{}
	e := newEngine(t, c, folder, events)

	plan, err := e.Preview(t.Context(), program("a", "b"))
	if err != nil || plan.Counts[engine.Create] != 2 || len(plan.Changes) != 2 {
		t.Fatalf("first plan: %+v, %v", plan, err)
	}
	if now, _ := c.count(); now != 0 {
		t.Fatalf("the plan made %d things", now)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
		t.Errorf("the plan left %v (%v)", entries, err)
	}
	if report := up(t, e, "a", "b"); report.Changes["create"] != 3 || len(report.Took) != 2 { // with the stack itself
		t.Errorf("first up: %+v", report)
	}
	if report := up(t, e, "a", "b"); len(report.Changes) != 0 {
		t.Errorf("second up changed %v", report.Changes)
	}
	plan, err = e.Preview(t.Context(), program("a", "c"))
	if err != nil || len(plan.Changes) != 1 || plan.Changes[0].Operation != engine.Update || plan.Changes[0].Type != "test:Thing" ||
		len(plan.Changes[0].Properties) != 1 || plan.Changes[0].Properties[0].Path != "label" ||
		plan.Changes[0].Properties[0].Old != "b" || plan.Changes[0].Properties[0].New != "c" {
		t.Errorf("plan of a change: %+v, %v", plan, err)
	}
	outputs, err := e.Outputs(t.Context())
	if err != nil || outputs["answer"] != "42" || outputs["hidden"] != theSecret {
		t.Errorf("outputs %v, %v", outputs, err)
	}
	noSecret(t, folder)
	if _, err := e.Destroy(t.Context()); err != nil {
		t.Fatalf("destroy: %v", err)
	}
	if now, made := c.count(); now != 0 || made != 2 {
		t.Errorf("%d things left of %d made", now, made)
	}
	if !slices.ContainsFunc(events.Events(), func(e event.Event) bool { return e.Step == "thing-0" && e.State == event.Done }) {
		t.Errorf("no event says that thing-0 is done: %v", events.Events())
	}
}

// noSecret reads every file of a folder.
//
// proves: S-90
func noSecret(t *testing.T, folder string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		if entry.IsDir() {
			return nil
		}
		files++
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(theSecret)) {
			t.Errorf("%s holds a secret", path)
		}
		return err
	})
	if err != nil || files < 4 {
		t.Errorf("%d files, %v", files, err)
	}
}

func TestAFailureKeepsItsCauseAndRemedy(t *testing.T) {
	t.Parallel()
	c := newCloud()
	e := newEngine(t, c, t.TempDir(), nil)
	_, err := e.Up(t.Context(), program("a", "broken"))
	var f *fault.Fault
	if !errors.As(err, &f) || fault.ExitCode(err) != fault.ExitPartial || fault.Remedy(err) != "choose another label" ||
		!strings.Contains(err.Error(), "thing thing-1: no valid host") {
		t.Errorf("%v (exit %d, remedy %q)", err, fault.ExitCode(err), fault.Remedy(err))
	}
	if report := up(t, e, "a", "mended"); report.Changes["create"] != 1 {
		t.Errorf("after mending: %+v", report)
	}
}

// What a plan refuses, nothing having been done, has the exit code of its cause.
func TestWhatAPlanRefusesIsUsage(t *testing.T) {
	t.Parallel()
	e := newEngine(t, newCloud(), t.TempDir(), nil)
	if _, err := e.Preview(t.Context(), program("a", "impossible")); fault.ExitCode(err) != fault.ExitUsage || fault.Remedy(err) != "choose another label" {
		t.Errorf("%v (exit %d)", err, fault.ExitCode(err))
	}
}

// proves: F45
func TestTheSecondRunIsToldWhoHoldsTheLock(t *testing.T) {
	t.Parallel()
	c, folder, events := newCloud(), t.TempDir(), &event.Recorder{}
	first := newEngine(t, c, folder, events)
	ended := make(chan error, 1)
	go func() { _, err := first.Up(context.Background(), program("slow")); ended <- err }()
	<-c.began
	_, err := newEngine(t, c, folder, nil).Up(t.Context(), program("a"))
	var locked *engine.Locked
	host, _ := os.Hostname()
	if !errors.As(err, &locked) || len(locked.Holders) != 1 || locked.Holders[0].Host != host ||
		locked.Holders[0].PID == 0 || time.Since(locked.Holders[0].Since) > time.Minute {
		t.Errorf("second run: %v (%+v)", err, locked)
	}
	close(c.free)
	if err := <-ended; err != nil {
		t.Errorf("first run: %v", err)
	}
	if !slices.ContainsFunc(events.Events(), func(e event.Event) bool {
		return e.State == event.Waiting && e.Message == "waiting for the tide"
	}) {
		t.Error("nothing said what was waited for")
	}
}

func TestCancelEndsSoonAndCanBeResumed(t *testing.T) {
	t.Parallel()
	c, folder := newCloud(), t.TempDir()
	e := newEngine(t, c, folder, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { <-c.began; cancel(fault.ErrInterrupted) }()
	start := time.Now()
	_, err := e.Up(ctx, program("a", "slow"))
	if fault.ExitCode(err) != fault.ExitInterrupted {
		t.Errorf("cancelled: %v", err)
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("took %v", took)
	}
	close(c.free)
	up(t, e, "a", "slow")
	if now, made := c.count(); now != 2 || made != 2 {
		t.Errorf("%d things, %d made", now, made)
	}
}

// proves: F35
func TestADeadlineNamesWhatBlocksAndCanBeResumed(t *testing.T) {
	t.Parallel()
	c, folder := newCloud(), t.TempDir()
	e := newEngine(t, c, folder, nil)
	up(t, e) // the engine's own beginning is not what is to be cut off
	ctx, stop := fault.WithDeadline(t.Context(), 5*time.Second)
	defer stop()
	start := time.Now()
	_, err := e.Up(ctx, program("a", "slow"))
	told := fmt.Sprint(err)
	if fault.ExitCode(err) != fault.ExitDeadline || fault.Remedy(err) != fault.Resume || !strings.HasPrefix(told, "thing-1: not done after 5s: running for ") ||
		!strings.HasSuffix(told, "last seen: waiting for the tide") {
		t.Errorf("%v (exit code %d, remedy %q)", err, fault.ExitCode(err), fault.Remedy(err))
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("took %v", took)
	}
	close(c.free)
	up(t, e, "a", "slow")
	if now, made := c.count(); now != 2 || made != 2 {
		t.Errorf("%d things, %d made", now, made)
	}
}

// holdFolder names, in a child that is this test's binary, the folder of an
// engine whose run is to be killed.
const holdFolder = "SLIPWAY_TEST_HOLD"

// holdServer names the HTTP server of that engine's state, if it is not in the folder.
const holdServer = "SLIPWAY_TEST_HOLD_SERVER"

func hold() int {
	c := newCloud()
	go func() { <-c.began; os.Stdout.WriteString("began\n") }()
	o := options(c, os.Getenv(holdFolder), nil)
	if at := os.Getenv(holdServer); at != "" {
		o.Backend, o.Environ = at, statetest.Environ()
	}
	e, err := engine.New(o)
	if err != nil {
		return 1
	}
	_, _ = e.Up(context.Background(), program("a", "slow"))
	return 0
}

func TestAKilledRunIsTakenOver(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), holdFolder+"="+folder)
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
	c, events := newCloud(), &event.Recorder{}
	up(t, newEngine(t, c, folder, events), "a", "b")
	if !slices.ContainsFunc(events.Events(), func(e event.Event) bool { return strings.Contains(e.Message, "removed the lock of process") }) {
		t.Errorf("nothing told of the lock: %v", events.Events())
	}
	if report := up(t, newEngine(t, c, folder, nil), "a", "b"); len(report.Changes) != 0 {
		t.Errorf("not converged: %v", report.Changes)
	}
}

func TestStateCanBeMovedAndNeedsItsPassphrase(t *testing.T) {
	t.Parallel()
	c, folder, other := newCloud(), t.TempDir(), t.TempDir()
	e := newEngine(t, c, folder, nil)
	up(t, e, "a")
	state, err := e.Export(t.Context())
	if err != nil || bytes.Contains(state, []byte(theSecret)) {
		t.Fatalf("exported with secrets in plain text, or %v", err)
	}
	wrong := newEngine(t, c, other, nil)
	if err := wrong.Import(t.Context(), state); fault.ExitCode(err) != fault.ExitUsage || !strings.Contains(fault.Remedy(err), "copy the passphrase") {
		t.Errorf("without a passphrase: %v", err)
	}
	if left, err := os.ReadDir(other); err != nil || len(left) > 0 {
		t.Errorf("without a passphrase it left %v, %v", left, err)
	}
	if err := os.WriteFile(filepath.Join(other, "passphrase"), []byte("another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := wrong.Import(t.Context(), state); err == nil {
		_, err = wrong.Up(t.Context(), program("a"))
		if err == nil {
			t.Error("another passphrase opens the state")
		}
	}
	o := options(c, t.TempDir(), nil)
	o.Passphrase = engine.PassphraseFile(filepath.Join(folder, "passphrase"))
	moved, err := engine.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := moved.Import(t.Context(), state); err != nil {
		t.Fatal(err)
	}
	if report := up(t, moved, "a"); len(report.Changes) != 0 {
		t.Errorf("the moved state differs: %v", report.Changes)
	}
}

// TestADiscardedStateLeavesTheCloud: what it knew is there still.
func TestADiscardedStateLeavesTheCloud(t *testing.T) {
	t.Parallel()
	c, folder := newCloud(), t.TempDir()
	e := newEngine(t, c, folder, nil)
	up(t, e, "a")
	if err := e.Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now, _ := c.count(); now != 1 {
		t.Errorf("%d things are left", now)
	}
	if resources, err := e.Resources(t.Context()); err != nil || len(resources) != 0 {
		t.Errorf("the state has %v, %v", resources, err)
	}
	if err := e.Discard(t.Context()); err != nil {
		t.Errorf("without a state: %v", err)
	}
	up(t, e, "a")
	if resources, err := e.Resources(t.Context()); err != nil || len(resources) == 0 {
		t.Errorf("made again: %v, %v", resources, err)
	}
}

func TestAPlanTellsWhatItCannotKnowYet(t *testing.T) {
	t.Parallel()
	c, folder := newCloud(), t.TempDir()
	e := newEngine(t, c, folder, &event.Recorder{})
	up(t, e, "a")
	plan, err := e.Preview(t.Context(), func(ctx *sdk.Context) error {
		var made, follows struct{ sdk.CustomResourceState }
		if err := ctx.RegisterResource("slipway:test:Thing", "made", sdk.Map{"label": sdk.String("b")}, &made); err != nil {
			return err
		}
		return ctx.RegisterResource("slipway:test:Thing", "thing-0",
			sdk.Map{"label": made.ID(), "secret": sdk.ToSecret(sdk.String(theSecret))}, &follows)
	})
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(plan.Changes, func(c engine.Change) bool { return c.Name == "thing-0" })
	if at < 0 || !slices.Contains(plan.Changes[at].Properties, engine.Property{Path: "label", Old: "a", New: engine.NotKnown}) {
		t.Errorf("the plan of a label that only another thing's id tells: %+v", plan.Changes)
	}
}
