package environment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/config"
)

// TestABundleThatCannotBeReadIsNotAbsent: whoever builds another one in its place loses it.
func TestABundleThatCannotBeReadIsNotAbsent(t *testing.T) {
	t.Parallel()
	damaged := t.TempDir()
	if err := os.WriteFile(filepath.Join(damaged, bundle.BillFile), []byte("items: {half"), 0o644); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{t.TempDir(): "there is no bundle here", damaged: bundle.BillFile} {
		e := &config.Environment{}
		e.Spec.Bundle = config.File(dir)
		if got := lookAtBundle(e).Problem; !strings.Contains(got, want) {
			t.Errorf("problem %q, want %q", got, want)
		}
	}
}
