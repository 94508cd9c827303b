package qemu

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/slipway-sh/slipway/internal/qemu"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/process"
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

// standIn answers in QEMU's place at the socket of a machine.
type standIn struct {
	mu      sync.Mutex
	running bool
	// button is what a guest that runs does when the power button is pressed.
	button func()
}

func (g *standIn) listen(t *testing.T, socket string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			g.serve(c)
		}
	}()
}

func (g *standIn) serve(c net.Conn) {
	defer c.Close()
	in, out := json.NewDecoder(c), json.NewEncoder(c)
	err := out.Encode(map[string]any{"QMP": map[string]any{}})
	for err == nil {
		var command struct{ Execute string }
		if err = in.Decode(&command); err == nil {
			err = out.Encode(map[string]any{"return": map[string]bool{"running": g.does(command.Execute)}})
		}
	}
}

// does obeys a command, and reports whether the machine runs then.
func (g *standIn) does(command string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch command {
	case "stop":
		g.running = false
	case "cont":
		g.running = true
	case "system_powerdown":
		if g.running && g.button != nil {
			g.button()
		}
	}
	return g.running
}

// A machine that stood still for an image of its disk runs again after it, also when the
// process that halted it was killed; one that its owner has paused does not.
func TestSnapshotHalts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ running, halted, want bool }{
		{running: true, want: true}, {halted: true, want: true}, {},
	} {
		d, s := full(t)
		s.Process, s.Halted = process.Of(os.Getpid()), c.halted
		if err := s.save(); err != nil {
			t.Fatal(err)
		}
		guest := &standIn{running: c.running}
		guest.listen(t, s.socket())
		if _, err := d.Snapshot(t.Context(), "one"); err == nil {
			t.Errorf("%+v: there was room", c)
		}
		now, err := d.Load("one")
		if err != nil || now.Halted || guest.does("") != c.want {
			t.Errorf("%+v: it runs: %t, halted: %t, %v", c, guest.does(""), now.Halted, err)
		}
	}
}
