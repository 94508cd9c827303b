package engine_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks/engine"
	"github.com/slipway-sh/slipway/stacks/engine/httpstate/statetest"
)

// TestTheLockIsSeenWithoutARun: who asks for the lock is told who holds it, and changes nothing.
func TestTheLockIsSeenWithoutARun(t *testing.T) {
	t.Parallel()
	for name, remote := range map[string]bool{"in a folder": false, "on a server": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, folder := newCloud(), t.TempDir()
			first, second := newEngine(t, c, folder, nil), newEngine(t, c, folder, nil)
			if remote {
				server := statetest.Start(t, true)
				first, second = onServer(t, options(c, folder, nil), server.URL), onServer(t, options(c, folder, nil), server.URL)
			}
			if err := second.CheckLock(t.Context()); err != nil {
				t.Errorf("without a state: %v", err)
			}
			if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
				t.Errorf("asking left %v (%v)", entries, err)
			}
			up(t, first)
			ended := make(chan error, 1)
			go func() { _, err := first.Up(context.Background(), program("slow")); ended <- err }()
			<-c.began
			var locked *engine.Locked
			if err := second.CheckLock(t.Context()); !errors.As(err, &locked) || len(locked.Holders) != 1 || fault.Remedy(err) == "" {
				t.Errorf("while the first runs: %v", err)
			}
			if err := engine.CheckFolder(filepath.Join(folder, "state")); errors.As(err, &locked) == remote {
				t.Errorf("while the first runs, in the folder: %v", err)
			}
			close(c.free)
			if err := <-ended; err != nil {
				t.Errorf("first run: %v", err)
			}
			if err := engine.CheckFolder(filepath.Join(folder, "state")); err != nil {
				t.Errorf("after the first, in the folder: %v", err)
			}
			before, err := first.Export(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := second.CheckLock(t.Context()); err != nil {
				t.Errorf("after the first: %v", err)
			}
			if after, err := first.Export(t.Context()); err != nil || !bytes.Equal(after, before) {
				t.Errorf("asking made the state %s (%v)", after, err)
			}
			if report := up(t, second, "slow"); len(report.Changes) != 0 {
				t.Errorf("second run: %v", report.Changes)
			}
		})
	}
}
