package sandbox_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/sandbox"
)

// Whoever started the sandbox with sudo must get to clouds.yaml in root's folder.
func TestFoldersAboveTheSandboxLetOthersThrough(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	usual, dir := filepath.Join(top, "usual"), filepath.Join(top, "slipway", "sandbox")
	if err := errors.Join(os.Mkdir(usual, 0o755), sandbox.Prepare(dir)); err != nil {
		t.Fatal(err)
	}
	mode := func(path string) fs.FileMode {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	if above, own := mode(filepath.Dir(dir)), mode(dir); above != mode(usual) || own != 0o700 {
		t.Errorf("the folder above has mode %v, the sandbox's %v", above, own)
	}
}

// A folder of which something could not be deleted is still a sandbox's, to be deleted
// again.
func TestEraseThatDoesNotGetThrough(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := sandbox.Prepare(dir); err != nil {
		t.Fatal(err)
	}
	busy := filepath.Join(dir, "machines", "busy")
	if err := os.MkdirAll(busy, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", busy, "tmpfs", 0, ""); err != nil {
		t.Skipf("mounting needs root: %v", err)
	}
	err := sandbox.Erase(dir)
	if unmounted := unix.Unmount(busy, unix.MNT_DETACH); unmounted != nil {
		t.Fatal(unmounted)
	}
	if err == nil || !sandbox.Exists(dir) {
		t.Errorf("it is a sandbox's: %t, %v", sandbox.Exists(dir), err)
	}
	if err := sandbox.Erase(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
}

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
