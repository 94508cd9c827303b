package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

const base = "apiVersion: slipway.sh/v1alpha1\nkind: Environment\nmetadata: {name: base}\nspec:\n  cloud: one\n"

// project writes files into a folder.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := New(ui.Streams{Out: &out, Err: &out})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// proves: F07
func TestShowTellsOrigins(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"a.yaml": base, "b.yaml": "spec:\n  cloud: two\n"})
	files := []string{"show", "-f", filepath.Join(dir, "a.yaml"), "-f", filepath.Join(dir, "b.yaml"), "--origins"}
	text, err := run(t, files...)
	if err != nil || !strings.Contains(text, "cloud: two # "+filepath.Join(dir, "b.yaml")+":2") || !strings.Contains(text, "volumesPolicy: delete # default") {
		t.Errorf("printed\n%s(%v)", text, err)
	}
	text, err = run(t, append(files, "-o", "json")...)
	var values []config.Value
	if err != nil || json.Unmarshal([]byte(text), &values) != nil || len(values) < 10 || values[0].Origin != filepath.Join(dir, "a.yaml")+":1" {
		t.Errorf("printed\n%s(%v)", text, err)
	}
	text, err = run(t, append(files, "-o", "table")...)
	if err != nil || !strings.HasPrefix(text, "PATH") {
		t.Errorf("printed\n%s(%v)", text, err)
	}
}

func TestShowAsJSONIsTheEnvironment(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"a.yaml": base})
	text, err := run(t, "show", "-f", filepath.Join(dir, "a.yaml"), "-o", "json")
	var e config.Environment
	if err != nil || json.Unmarshal([]byte(text), &e) != nil || e.Spec.Cloud != "one" {
		t.Errorf("printed\n%s(%v)", text, err)
	}
}

// proves: S-07, F08
func TestEnvironmentsSideBySide(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{
		"slipway.yaml": base, "environments/staging.yaml": "spec: {cloud: two}\n", "environments/prod.yaml": "spec: {cloud: three}\n",
		"environments/wrong.yaml": "metadata: {name: prod}\n",
	})
	file := filepath.Join(dir, "slipway.yaml")
	for name, cloud := range map[string]string{"staging": "two", "prod": "three"} {
		text, err := run(t, "show", "-f", file, "--env", name)
		if err != nil || !strings.Contains(text, "name: "+name+"\n") || !strings.Contains(text, "cloud: "+cloud+"\n") {
			t.Errorf("%s printed\n%s(%v)", name, text, err)
		}
	}
	for name, want := range map[string]string{"wrong": `the file names environment "prod", --env names "wrong"`, "absent": "write " + filepath.Join(dir, "environments", "absent.yaml")} {
		_, err := run(t, "validate", "-f", file, "--env", name)
		if err == nil || fault.ExitCode(err) != fault.ExitUsage || !strings.Contains(err.Error()+fault.Remedy(err), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestValidateTellsEveryMistake(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"good.yaml": base, "bad.yaml": base + "  clowd: x\n  region: 1\n"})
	if text, err := run(t, "validate", "-f", filepath.Join(dir, "good.yaml")); err != nil || !strings.Contains(text, "environment base is valid") {
		t.Errorf("printed %q (%v)", text, err)
	}
	_, err := run(t, "validate", "-f", filepath.Join(dir, "bad.yaml"))
	if len(fault.All(err)) != 2 || fault.ExitCode(fault.All(err)[0]) != fault.ExitUsage {
		t.Errorf("told %v", err)
	}
}

// TestValidateChecksTheChartsValues: each mistake has its line, also those of a later file.
func TestValidateChecksTheChartsValues(t *testing.T) {
	t.Parallel()
	const more = `  managementCluster:
    values:
      controlPlane: {machineCuont: 5}
      nodeGroups:
        - name: md-0
          machineCount: many
`
	dir := project(t, map[string]string{"a.yaml": base + more, "b.yaml": "spec:\n  managementCluster:\n    values:\n      addons:\n        cnj: {}\n"})
	_, err := run(t, "validate", "-f", filepath.Join(dir, "a.yaml"), "-f", filepath.Join(dir, "b.yaml"))
	var told []string
	for _, one := range fault.All(err) {
		told = append(told, strings.TrimPrefix(one.Error(), dir+"/"))
		if fault.ExitCode(one) != fault.ExitUsage {
			t.Errorf("%v ends with %d", one, fault.ExitCode(one))
		}
	}
	line := strings.Count(base, "\n")
	for _, want := range []string{
		"b.yaml:5: spec.managementCluster.values.addons.cnj: unknown key",
		fmt.Sprintf("a.yaml:%d: spec.managementCluster.values.controlPlane.machineCuont: unknown key", line+3),
		fmt.Sprintf("a.yaml:%d: spec.managementCluster.values.nodeGroups[0].machineCount: ", line+6),
	} {
		if !slices.ContainsFunc(told, func(s string) bool { return strings.HasPrefix(s, want) }) {
			t.Errorf("%q is not told, but %q", want, told)
		}
	}
}

// TestValidateTellsValuesBesideOtherMistakes: of a file with a wrong key of its own, too, and no
// mistake that would not be there without that key.
func TestValidateTellsValuesBesideOtherMistakes(t *testing.T) {
	t.Parallel()
	const more = `  clowd: x
  managementCluster:
    podCIDR: none
    values:
      controlPlane: {machineCuont: 5}
`
	dir := project(t, map[string]string{"a.yaml": base + more})
	_, err := run(t, "validate", "-f", filepath.Join(dir, "a.yaml"))
	var told []string
	for _, one := range fault.All(err) {
		_, text, _ := strings.Cut(one.Error(), "a.yaml:")
		told = append(told, text)
		if fault.ExitCode(one) != fault.ExitUsage {
			t.Errorf("%v ends with %d", one, fault.ExitCode(one))
		}
	}
	line := strings.Count(base, "\n")
	want := []string{
		fmt.Sprintf("%d: spec.clowd: unknown key", line+1),
		fmt.Sprintf("%d: spec.managementCluster.podCIDR: ", line+3),
		fmt.Sprintf("%d: spec.managementCluster.values.controlPlane.machineCuont: unknown key", line+5),
	}
	if len(told) != len(want) {
		t.Fatalf("told are %q", told)
	}
	for i := range want {
		if !strings.HasPrefix(told[i], want[i]) {
			t.Errorf("told are %q, want %q", told, want)
		}
	}
}

func TestSchemaIsPrinted(t *testing.T) {
	t.Parallel()
	text, err := run(t, "schema")
	if err != nil || !strings.Contains(text, config.SchemaID) {
		t.Errorf("printed %q (%v)", text, err)
	}
}
