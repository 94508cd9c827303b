package initialize

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/internal/ui"
)

func run(t *testing.T, sandbox *sandboxtest.Cloud, args ...string) (string, error) {
	t.Helper()
	t.Setenv("OS_CLIENT_CONFIG_FILE", sandbox.CloudsYAML())
	t.Setenv("OS_CLOUD", "sandbox")
	var out bytes.Buffer
	cmd := New(ui.Streams{Out: &out, Err: &out})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestInitWritesAFileThatLoads(t *testing.T) {
	sandbox := sandboxtest.Start(t)
	file := filepath.Join(t.TempDir(), "slipway.yaml")
	text, err := run(t, sandbox, "-f", file, "--name", "prod")
	if err != nil || !strings.Contains(text, "it is the only one") {
		t.Fatalf("printed\n%s(%v)", text, err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v (%v)", info.Mode(), err)
	}
	loaded, err := config.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	e := loaded.Environment
	if e.Metadata.Name != "prod" || e.Spec.Cloud != "sandbox" || e.Spec.ExternalNetwork != "public" || e.Spec.Seed.Flavor != "m1.large" {
		t.Errorf("loaded %+v", e)
	}
	written, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(written), "# Found: public.") || !strings.Contains(string(written), "m1.large (4 vCPU, 8192 MiB, 80 GB)") {
		t.Errorf("wrote\n%s(%v)", written, err)
	}
}

func TestInitDoesNotReplaceAFile(t *testing.T) {
	sandbox := sandboxtest.Start(t)
	file := filepath.Join(t.TempDir(), "slipway.yaml")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, sandbox, "-f", file); fault.ExitCode(err) != fault.ExitUsage || !strings.Contains(fault.Remedy(err), "--force") {
		t.Errorf("ended with %v", err)
	}
	if text, _ := os.ReadFile(file); string(text) != "mine" {
		t.Errorf("the file is %q", text)
	}
	if _, err := run(t, sandbox, "-f", file, "--force"); err != nil {
		t.Error(err)
	}
	if _, err := config.Load(file); err != nil {
		t.Error(err)
	}
}

func TestInitRefusesAWrongName(t *testing.T) {
	sandbox := sandboxtest.Start(t)
	file := filepath.Join(t.TempDir(), "slipway.yaml")
	if _, err := run(t, sandbox, "-f", file, "--name", "Prod_1"); fault.ExitCode(err) != fault.ExitUsage || !strings.Contains(err.Error(), "metadata.name") {
		t.Errorf("ended with %v", err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("a file was written (%v)", err)
	}
}
