package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

// scripted is an engine whose process is a script, with a state in a folder: what the real one says
// seldom can be said at once.
type scripted struct {
	*Engine
	*testing.T
	answers string
	events  *event.Recorder
}

// newScripted says for each command what its process does, in the shell's language. Others succeed
// and say nothing.
func newScripted(t *testing.T, does map[string]string, change ...func(*Options)) scripted {
	t.Helper()
	folder, answers := t.TempDir(), t.TempDir()
	program, err := filepath.Abs("testdata/engine.sh")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(folder, "state", ".pulumi"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := scripted{T: t, answers: answers, events: &event.Recorder{}}
	for name, text := range does {
		s.does(name, text)
	}
	o := Options{Environment: "prod", Folder: folder, Passphrase: PassphraseText("x"), Executable: program, Environ: []string{"ANSWERS=" + answers}, Events: s.events}
	for _, one := range change {
		one(&o)
	}
	if s.Engine, err = New(o); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s scripted) does(name, text string) {
	s.Helper()
	if err := os.WriteFile(filepath.Join(s.answers, name), []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

// asked are the commands so far, without their arguments.
func (s scripted) asked() (names []string) {
	s.Helper()
	for _, line := range strings.Split(strings.TrimSpace(s.read("asked")), "\n") {
		words := strings.Fields(line)
		if len(words) > 1 && (words[0] == "stack" || words[0] == "state") {
			words[0] += " " + words[1]
		}
		if len(words) > 0 {
			names = append(names, words[0])
		}
	}
	return names
}

func (s scripted) read(name string) string {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(s.answers, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.Fatal(err)
	}
	return string(text)
}

// times counts a command.
func (s scripted) times(name string) int {
	return len(slices.DeleteFunc(s.asked(), func(one string) bool { return one != name }))
}

// fails is a process that says something and fails.
func fails(text string) string { return "cat >&2 <<'END'\n" + text + "\nEND\nexit 255\n" }

// says is one that prints.
func says(text string) string { return "cat <<'END'\n" + text + "\nEND\n" }

const (
	noStack = "error: no stack named 'prod' found"
	// noProcess is a PID that no machine has.
	noProcess = 4194303
	urn       = "urn:pulumi:prod::slipway::slipway:test:Thing::"
)

// lockedBy is what the engine says of a lock of a process of this host.
func lockedBy(t *testing.T, pid int, since time.Time) string {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end or delete the lock file with `pulumi cancel`.\n"+
		"  file:///x: created by bob@%s (pid %d) at %s", host, pid, since.Format(time.RFC3339))
}

func empty(*pulumi.Context) error { return nil }

// TestALockThatComesBackIsNotFoughtFor: that of a dead process is removed, and after some times whoever
// takes it again is named.
func TestALockThatComesBackIsNotFoughtFor(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		command string
		do      func(scripted) error
	}{
		"a run":    {"up", func(s scripted) error { _, err := s.Up(s.Context(), empty); return err }},
		"a glance": {"stack rename", func(s scripted) error { return s.CheckLock(s.Context()) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScripted(t, map[string]string{test.command: fails(lockedBy(t, noProcess, time.Unix(1700000000, 0))), "stack export": says(`{"version": 3, "deployment": {"pending_operations": [{}], "manifest": {}}}`)})
			var locked *Locked
			if err := test.do(s); !errors.As(err, &locked) || len(locked.Holders) != 1 || locked.Holders[0].User != "bob" || locked.Holders[0].PID != noProcess {
				t.Errorf("%v", err)
			}
			if s.times(test.command) != 4 || s.times("cancel") != 3 {
				t.Errorf("it asked %q", s.asked())
			}
			if text := s.read("imported"); text != `{"version":3,"deployment":{"manifest":{}}}` {
				t.Errorf("the state without what was under way is %s", text)
			}
			if told := s.events.Events(); len(told) != 3 || !strings.HasPrefix(told[0].Message, "removed the lock of process 4194303, which ended without releasing it (locked since 2023-11-1") {
				t.Errorf("it told %v", told)
			}
			s.does("cancel", fails("error: no space left"))
			if err := test.do(s); err == nil || err.Error() != "removing the lock: no space left" {
				t.Errorf("a lock that cannot be removed: %v", err)
			}
		})
	}
}

// TestALockOfALiveProcessStays, and so does that of another machine, and of nobody whom one could ask.
func TestALockOfALiveProcessStays(t *testing.T) {
	t.Parallel()
	s := newScripted(t, map[string]string{"up": fails(lockedBy(t, os.Getpid(), time.Now())), "stack rename": fails(strings.Replace(lockedBy(t, noProcess, time.Now()), "bob@", "bob@another-", 1))})
	_, up := s.Up(t.Context(), empty)
	for what, err := range map[string]error{"alive": up, "elsewhere": s.CheckLock(t.Context())} {
		var locked *Locked
		if !errors.As(err, &locked) || fault.Remedy(err) != "wait until that process has ended; if it is certainly gone, run slipway state unlock" {
			t.Errorf("%s: %v", what, err)
		}
	}
	if asked := s.asked(); !slices.Equal(asked, []string{"up", "stack rename"}) {
		t.Errorf("it asked %q", asked)
	}
}

// TestWhatAGlanceAtTheLockMeans: the state is not locked if the engine refuses the renaming.
func TestWhatAGlanceAtTheLockMeans(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ does, want string }{
		"free":     {fails("error: a stack named prod already exists"), ""},
		"no state": {fails(noStack), ""},
		"renamed":  {"", ""},
		"broken":   {fails("error: disk on fire"), "disk on fire"},
	} {
		s := newScripted(t, map[string]string{"stack rename": test.does})
		if err := s.CheckLock(t.Context()); (err == nil) != (test.want == "") || err != nil && err.Error() != test.want {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// TestUnlockingByHand drops what was under way, and is no error without a state.
func TestUnlockingByHand(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		does     map[string]string
		want     string
		repaired bool
	}{
		"with something under way": {map[string]string{"stack export": says(`{"version": 3, "deployment": {"pending_operations": []}}`)}, "", true},
		"with nothing under way":   {map[string]string{"stack export": says(`{"version": 3, "deployment": {}}`)}, "", false},
		"without a state":          {map[string]string{"cancel": fails(noStack), "stack export": fails(noStack)}, "", false},
		"a state that is away":     {map[string]string{"stack export": fails("error: away")}, "exporting the state: away", false},
		"a broken state":           {map[string]string{"stack export": says("half")}, "reading the state: ", false},
		"a lock that stays":        {map[string]string{"cancel": fails("error: forbidden")}, "removing the lock: forbidden", false},
		"a state that stays": {map[string]string{"stack export": says(`{"version": 3, "deployment": {"pending_operations": []}}`), "stack import": fails("error: full")},
			"repairing the state: full", true},
	} {
		s := newScripted(t, test.does)
		err := s.Unlock(t.Context())
		if (err == nil) != (test.want == "") || err != nil && !strings.HasPrefix(err.Error(), test.want) || (s.times("stack import") > 0) != test.repaired || s.times("cancel") != 1 {
			t.Errorf("%s: %v, want %q; asked %q", name, err, test.want, s.asked())
		}
	}
}

// TestAStateIsCreatedWhenItIsFirstNeeded, by Up and by an import alone.
func TestAStateIsCreatedWhenItIsFirstNeeded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		init, want string
		inits, ups int
	}{
		"that vanishes again": {"", errNoStack.Error(), 3, 4},
		"by another run":      {fails("error: stack prod already exists"), errNoStack.Error(), 3, 4},
		"that cannot be":      {fails("error: read-only"), "creating the state: read-only", 1, 1},
	} {
		s := newScripted(t, map[string]string{"up": fails(noStack), "stack init": test.init})
		if _, err := s.Up(t.Context(), empty); err == nil || err.Error() != test.want || s.times("stack init") != test.inits || s.times("up") != test.ups {
			t.Errorf("%s: %v; asked %q", name, err, s.asked())
		}
		if err := s.Import(t.Context(), []byte("{}")); (err != nil) != (test.inits == 1) || (s.times("stack import") == 0) != (err != nil) {
			t.Errorf("%s: imported: %v; asked %q", name, err, s.asked())
		}
	}
	s := newScripted(t, map[string]string{"destroy": fails(noStack), "refresh": fails(noStack)})
	_, destroy := s.Destroy(t.Context())
	_, preview := s.PreviewDestroy(t.Context())
	_, refresh := s.Refresh(t.Context(), false)
	if err := errors.Join(destroy, preview, refresh); err != nil || s.times("stack init") != 0 {
		t.Errorf("without a state: %v; asked %q", err, s.asked())
	}
}

// TestAnOperationThatFailsIsToldAsOne, not as the end of work.
func TestAnOperationThatFailsIsToldAsOne(t *testing.T) {
	t.Parallel()
	s := newScripted(t, map[string]string{"up": fails("error: bad up"), "preview": fails("error: bad preview"), "destroy": fails("error: bad destroy"), "refresh": fails("error: bad refresh")})
	_, up := s.Up(t.Context(), empty)
	_, preview := s.Preview(t.Context(), empty)
	_, destroy := s.Destroy(t.Context())
	_, previewDestroy := s.PreviewDestroy(t.Context())
	_, refresh := s.Refresh(t.Context(), true)
	_, drift := s.Refresh(t.Context(), false)
	for want, err := range map[string]error{"bad up": up, "bad preview": preview, "bad destroy": destroy, "bad refresh": refresh} {
		if err == nil || !strings.Contains(err.Error(), want) || fault.ExitCode(err) != fault.ExitFailure {
			t.Errorf("%s: %v (exit %d)", want, err, fault.ExitCode(err))
		}
	}
	if previewDestroy == nil || drift == nil {
		t.Errorf("a plan of a destroy: %v, drift: %v", previewDestroy, drift)
	}
	lines := strings.Split(s.read("asked"), "\n")
	if !strings.Contains(lines[4], "refresh --yes") || strings.Contains(lines[4], "--preview-only") || !strings.Contains(lines[5], "--preview-only") {
		t.Errorf("a refresh was asked for as %q, drift as %q", lines[4], lines[5])
	}
}
