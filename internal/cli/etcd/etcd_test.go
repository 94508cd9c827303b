package etcd_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/cli/etcd"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// TestDefragNeedsACertificate: what is wrong with the files is told, and how it is
// meant.
func TestDefragNeedsACertificate(t *testing.T) {
	t.Parallel()
	none := filepath.Join(t.TempDir(), "none")
	if err := os.WriteFile(none, []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"defrag", "--cert", none}, {"defrag", "--cert", none + "2", "--key", none}} {
		cmd := etcd.New(ui.Streams{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}})
		cmd.SetArgs(args)
		err := cmd.ExecuteContext(t.Context())
		if fault.ExitCode(err) != fault.ExitUsage || !strings.Contains(err.Error(), "--cert") || !strings.Contains(fault.Remedy(err), "control plane") {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// TestDefragThatDidNothingPrintsNothing: where no member was done, there is no document beside the
// error.
func TestDefragThatDidNothingPrintsNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out := &bytes.Buffer{}
	cmd := etcd.New(ui.Streams{Out: out, Err: &bytes.Buffer{}})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(&bytes.Buffer{})
	cmd.SetArgs([]string{"defrag", "--endpoint", "http://127.0.0.1:1", "-o", "json"})
	if err := cmd.ExecuteContext(ctx); err == nil || out.Len() > 0 {
		t.Errorf("%v, and %q", err, out)
	}
}
