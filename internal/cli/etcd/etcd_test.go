package etcd_test

import (
	"bytes"
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
