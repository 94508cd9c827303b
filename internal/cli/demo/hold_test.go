package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/ui"
)

// TestABusyDemoStays: neither a second demo nor --down disturbs one that is being created, or a run
// of its environment.
func TestABusyDemoStays(t *testing.T) {
	t.Parallel()
	o, down := demo(t), demo(t)
	down.dir, down.down = o.dir, true
	refused := func(o options, want string) {
		t.Helper()
		if _, err := o.try(t, &recorder{}, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, and not %q", err, want)
		}
	}
	r, asked := &recorder{}, false
	during := func(ctx context.Context, dir string, args ...string) error {
		if args[0] == "init" {
			asked = true
			refused(o, fmt.Sprintf("slipway demo works on this folder: process %d since ", os.Getpid()))
			refused(down, "slipway demo works on this folder: process")
		}
		return r.run(ctx, dir, args...)
	}
	if err := o.run(t.Context(), ui.Streams{Out: io.Discard, Err: io.Discard}, during); err != nil || !asked {
		t.Fatal(err, asked)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(o.dir, stateFolder, ".pulumi", "locks", "organization", "slipway", "demo", "1.json")
	if err := os.MkdirAll(filepath.Dir(lock), 0o755); err != nil {
		t.Fatal(err)
	}
	held := func(pid int) {
		text := fmt.Sprintf(`{"pid":%d,"username":"me","hostname":%q,"timestamp":%q}`, pid, host, time.Now().Format(time.RFC3339))
		if err := os.WriteFile(lock, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	held(os.Getpid())
	refused(down, fmt.Sprintf("a run of its environment is under way: the state is locked by me on %s (process %d) since", host, os.Getpid()))
	held(1 << 30) // there is no such process
	if _, err := down.try(t, r, ""); err != nil {
		t.Errorf("after a run that was killed: %v", err)
	}
}
