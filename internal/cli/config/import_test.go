package config

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

func runImport(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := New(ui.Streams{Out: &out, Err: &out})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"import"}, args...))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestImportWritesAllFilesOrNone(t *testing.T) {
	t.Parallel()
	old, dir := filepath.Join(t.TempDir(), "environment-prod.tfvars"), filepath.Join(t.TempDir(), "new")
	if err := os.WriteFile(old, []byte("prefix = \"prod\"\nworker_count = 2\nkind_flavor = \"SCS-4V-16\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := runImport(t, "scs", "--file", old, "--dir", dir)
	if err != nil || !strings.Contains(text, "kind_flavor") || !strings.Contains(text, "written to "+filepath.Join(dir, "slipway.yaml")) || !strings.Contains(text, "testcluster.yaml") {
		t.Errorf("%v\n%s", err, text)
	}
	if loaded, err := config.Load(filepath.Join(dir, "slipway.yaml")); err != nil || loaded.Environment.Metadata.Name != "prod" {
		t.Errorf("%+v (%v)", loaded, err)
	}
	if err := os.Remove(filepath.Join(dir, "slipway.yaml")); err != nil {
		t.Fatal(err)
	}
	_, err = runImport(t, "scs", "--file", old, "--dir", dir)
	if fault.ExitCode(err) != fault.ExitUsage || !strings.Contains(err.Error(), "testcluster.yaml") {
		t.Errorf("over an existing file: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "slipway.yaml")); !os.IsNotExist(err) {
		t.Errorf("some files were written (%v)", err)
	}
	text, err = runImport(t, "scs", "--file", old, "--dir", dir, "--force", "--name", "other", "-o", "json")
	var result struct {
		Name  string
		Notes []struct{ Level, Setting, To string }
	}
	if jsonErr := json.Unmarshal([]byte(text), &result); err != nil || jsonErr != nil || result.Name != "other" || len(result.Notes) != 3 {
		t.Errorf("%v, %v: %s", err, jsonErr, text)
	}
}

func TestImportAzimuthNeedsAFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := runImport(t, "azimuth", "--inventory", filepath.Join(dir, "none"), "--dir", dir); fault.ExitCode(err) != fault.ExitUsage || fault.Remedy(err) == "" {
		t.Errorf("%v", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "inventory/group_vars"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "inventory/group_vars/all.yml"), []byte("infra_flavor_id: m1.large\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := runImport(t, "azimuth", "--inventory", dir, "--dir", dir, "--name", "prod")
	if err != nil || !strings.Contains(text, "spec.seed.flavor") {
		t.Errorf("%v\n%s", err, text)
	}
}
