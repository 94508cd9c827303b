package datastore

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/remote"
)

// local is this machine, seen as a container with rights sees its host.
func local(t *testing.T) Local {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("another root needs root")
	}
	return Local{Root: "/"}
}

// TestTheMachineCopiesItsOwnDatastore: what a container on the seed takes is what SSH
// takes, and a copy that a killed run left goes when it is old.
func TestTheMachineCopiesItsOwnDatastore(t *testing.T) {
	t.Parallel()
	on, old, fresh := local(t), seed(t, "old"), seed(t, "fresh")
	left, young := filepath.Join(old, "slipway-copy-left"), filepath.Join(old, "slipway-copy-young")
	for _, folder := range []string{left, young} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(left, time.Now(), time.Now().Add(-3*time.Hour)); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := Take(t.Context(), on, old, &archive); err != nil {
		t.Fatal(err)
	}
	if err := Put(t.Context(), &host{}, fresh, "b1", archive.Bytes()); err != nil {
		t.Fatal(err)
	}
	expect(t, fresh)
	if found, _ := filepath.Glob(filepath.Join(old, "slipway-copy-*")); len(found) != 1 || found[0] != young {
		t.Errorf("left %v", found)
	}
}

// TestProgramsSeeTheMachinesRoot and no variable of this process; their failures are told.
func TestProgramsSeeTheMachinesRoot(t *testing.T) {
	t.Parallel()
	on := local(t)
	if said, err := on.Run(t.Context(), "sh", "-c", `pwd; echo "$HOME$AWS_SECRET_ACCESS_KEY"`); err != nil || said != "/\n\n" {
		t.Errorf("said %q, %v", said, err)
	}
	_, err := on.Run(t.Context(), "sh", "-c", "echo no room >&2; exit 3")
	if failed := (*remote.Failure)(nil); !errors.As(err, &failed) || failed.Status != 3 || failed.Said != "no room" || failed.Program != "sh" {
		t.Errorf("failed with %v", err)
	}
	if _, err := (Local{Root: t.TempDir()}).Run(t.Context(), "sh"); err == nil || !strings.Contains(err.Error(), "on the machine") {
		t.Errorf("a root without programs: %v", err)
	}
}

// TestAnEndedCopyLeavesNothing: a target that takes no more, and a process that is told to
// end.
func TestAnEndedCopyLeavesNothing(t *testing.T) {
	t.Parallel()
	on, old := local(t), seed(t, "old")
	if err := Take(t.Context(), on, old, full{}); err == nil {
		t.Error("what was not written counts as written")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("not the leader any more")
	from, to := io.Pipe()
	go func() {
		_, _ = from.Read(make([]byte, 1)) // it is at work
		cancel(why)
		_, _ = io.Copy(io.Discard, from)
	}()
	if err := Take(ctx, on, old, to); !errors.Is(err, why) {
		t.Errorf("ended with %v", err)
	}
	to.Close()
	if found, _ := filepath.Glob(filepath.Join(old, "slipway-copy-*")); len(found) != 0 {
		t.Errorf("left %v", found)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("there is no space left") }
