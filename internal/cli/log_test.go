package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/runlog"
	"github.com/slipway-sh/slipway/internal/ui"
)

// logData is the JSON of slipway log.
type logData struct {
	Runs   []runlog.Record
	Events []map[string]any
}

// TestTheLogOfAnEnvironment: runs that were interrupted, failed and went well, with the
// digest of the file and what they changed; commands that only look are not in it.
func TestTheLogOfAnEnvironment(t *testing.T) {
	t.Parallel()
	_, file := project(t)
	if empty := data[logData](t, "log", "-f", file, "-o", "json"); len(empty.Runs) != 0 {
		t.Errorf("before anything ran: %+v", empty)
	}
	upToTheSeed(t, file)
	if code, _, _ := run(t.Context(), "state", "forget", "nothing", "-f", file); code == fault.ExitOK {
		t.Error("what does not exist is forgotten")
	}
	data[statusData](t, "status", "-f", file, "-o", "json")
	data[downData](t, "down", "--yes", "-f", file, "-o", "json")
	text, err := os.ReadFile(file)
	check(t, err)
	sum := sha256.Sum256(text)
	runs := data[logData](t, "log", "-f", file, "-o", "json").Runs
	if len(runs) != 3 {
		t.Fatalf("%+v", runs)
	}
	for i, want := range []struct {
		command string
		outcome runlog.Outcome
		exit    fault.Exit
		changed string
	}{{"slipway down --file=[" + file + "] ", runlog.Succeeded, fault.ExitOK, "seed: deleted"}, {"slipway state forget nothing --file=[" + file + "]", runlog.Failed, fault.ExitUsage, ""},
		{"slipway up --file=[" + file + "] ", runlog.Interrupted, fault.ExitInterrupted, "network: created"}} {
		got := runs[i]
		if !strings.HasPrefix(got.Command, want.command) || got.Outcome != want.outcome || got.Exit != int(want.exit) || !strings.Contains(strings.Join(got.Changed, "\n"), want.changed) ||
			got.User == "" || got.PID != os.Getpid() || got.Cloud != cloudName(t) || len(got.Files) != 1 || got.Files[0].SHA256 != hex.EncodeToString(sum[:]) || got.Ended.IsZero() {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	one := data[logData](t, "log", runs[2].ID, "-f", file, "-o", "json")
	if len(one.Runs) != 1 || one.Runs[0].ID != runs[2].ID || len(one.Events) < 5 {
		t.Errorf("one run: %+v", one)
	}
	code, stdout, _ := run(t.Context(), "log", runs[1].ID, "-f", file)
	if code != fault.ExitOK || !strings.Contains(stdout, "failed (exit code 2)") || !strings.Contains(stdout, "sha256:"+hex.EncodeToString(sum[:])) {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
	if code, _, stderr := run(t.Context(), "log", "x", "-f", file); code != fault.ExitUsage || !strings.Contains(stderr, "slipway log --last 0") {
		t.Errorf("an unknown run: exit code %d\n%s", code, stderr)
	}
}

// TestWhatIsRecordedExists: a command that is renamed stays recorded.
func TestWhatIsRecordedExists(t *testing.T) {
	t.Parallel()
	root := newRoot(ui.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	for _, words := range recorded() {
		cmd, left, err := root.Find(strings.Fields(words))
		if err != nil || len(left) > 0 || cmd.Flags().Lookup("file") == nil {
			t.Errorf("%s: %v, %v", words, left, err)
		}
	}
}

// TestWhatChangesIsRecorded: whoever asks who replaced, deleted or rebuilt something finds it.
// What only looks leaves nothing.
func TestWhatChangesIsRecorded(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		words, flags string
		looks        bool
	}{{"recover", "--yes", false}, {"recover", "--dry-run", true}, {"sweep", "--delete", false}, {"sweep", "", true}, {"certs renew", "--yes", false}, {"cluster rotate-credential", "", false}, {"up", "", false}} {
		root := newRoot(ui.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
		cmd, _, err := root.Find(strings.Fields(test.words))
		if err != nil || !slices.Contains(recorded(), test.words) {
			t.Errorf("%s is not recorded: %v", test.words, err)
			continue
		}
		if err := cmd.ParseFlags(strings.Fields(test.flags)); err != nil || looks(cmd) != test.looks {
			t.Errorf("%s %s: it looks only: %v, want %v (%v)", test.words, test.flags, looks(cmd), test.looks, err)
		}
	}
}
