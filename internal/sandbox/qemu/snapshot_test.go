package qemu

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/qemu"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
)

// full is a driver on a host whose disk is full, with a machine that does not run.
func full(t *testing.T) (*Driver, *server) {
	t.Helper()
	d := offline(t)
	tool, err := filepath.Abs("testdata/full-disk")
	if err != nil {
		t.Fatal(err)
	}
	d.found = &host{tools: qemu.Tools{Image: tool}, accelerator: qemu.TCG}
	s, _ := d.Load("one") // it has no record yet
	if err := s.Make(t.Context(), machine.Spec{ID: "one", Image: image(t), DiskGiB: 1}); err != nil {
		t.Fatal(err)
	}
	return d, s
}

// The image of a disk for which there was no room leaves the room that there was.
func TestSnapshotThatDoesNotFit(t *testing.T) {
	t.Parallel()
	d, s := full(t)
	if _, err := d.Snapshot(t.Context(), "one"); err == nil || !strings.Contains(err.Error(), "No space left") {
		t.Errorf("reading the disk: %v", err)
	}
	if left, _ := filepath.Glob(s.path("snapshot*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
