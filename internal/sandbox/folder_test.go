package sandbox_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/slipway-sh/slipway/internal/sandbox"
)

// TestLookingKeepsNobodyFromStarting looks whether a sandbox runs, again and
// again, while the folder is claimed and given back: looking never has it.
func TestLookingKeepsNobodyFromStarting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := sandbox.Prepare(dir); err != nil {
		t.Fatal(err)
	}
	end := make(chan struct{})
	var lookers sync.WaitGroup
	for range 4 {
		lookers.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
				}
				if _, _, err := sandbox.Running(dir); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	defer lookers.Wait()
	defer close(end)
	for range 500 {
		claim, err := sandbox.NewClaim(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sandbox.NewClaim(dir); !errors.Is(err, sandbox.ErrRuns) {
			t.Fatalf("a second claim got %v", err)
		}
		if p, runs, err := sandbox.Running(dir); err != nil || !runs || p.PID != 0 {
			t.Fatalf("claimed: %+v, %v, %v", p, runs, err)
		}
		if err := claim.Release(); err != nil {
			t.Fatal(err)
		}
		if _, runs, err := sandbox.Running(dir); err != nil || runs {
			t.Fatalf("given back, but %v, %v", runs, err)
		}
	}
}
