package moving

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// tofu is a user's configuration of OpenTofu with its state: what Magnum made, described by the
// provider for OpenStack, of which plans must stay empty.
type tofu struct {
	w       *world
	folder  string
	program string
}

// describe makes a configuration and a state of a template and a cluster that are there.
func (w *world) describe(template, cluster string) *tofu {
	w.Helper()
	programs := os.Getenv("SLIPWAY_OPENTOFU")
	if programs == "" {
		w.Fatal("SLIPWAY_OPENTOFU names no folder: run make devcloud-moving")
	}
	f := &tofu{w: w, folder: w.path("tofu"), program: filepath.Join(programs, "tofu")}
	w.must(os.Mkdir(f.folder, 0o700))
	for name, text := range map[string]string{
		"tofurc": fmt.Sprintf("provider_installation {\n  dev_overrides { \"terraform-provider-openstack/openstack\" = %q }\n}\n", programs),
		"main.tf": fmt.Sprintf(`terraform {
  required_providers { openstack = { source = "terraform-provider-openstack/openstack" } }
}
import {
  to = openstack_containerinfra_clustertemplate_v1.template
  id = %q
}
import {
  to = openstack_containerinfra_cluster_v1.cluster
  id = %q
}
`, w.show("coe", "cluster", "template", "show", template)["uuid"], w.show("coe", "cluster", "show", cluster)["uuid"]),
	} {
		w.must(os.WriteFile(filepath.Join(f.folder, name), []byte(text), 0o600))
	}
	// A port that was not given is described as 0, which the provider then refuses: so the plan
	// fails when it has written the file.
	out, code := f.run("plan", "-input=false", "-generate-config-out=described.tf")
	text, err := os.ReadFile(filepath.Join(f.folder, "described.tf"))
	if err != nil || code != 0 && !strings.Contains(out, "expected apiserver_port to be in the range") {
		w.Fatalf("describing: %v: %s", err, out)
	}
	lines := slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool {
		return slices.Equal(strings.Fields(line), []string{"apiserver_port", "=", "0"})
	})
	w.must(os.WriteFile(filepath.Join(f.folder, "described.tf"), []byte(strings.Join(lines, "\n")), 0o600))
	if out, code := f.run("apply", "-input=false", "-auto-approve"); code != 0 || !strings.Contains(out, "2 imported, 0 added, 0 changed, 0 destroyed") {
		w.Errorf("making the state: %s", out)
	}
	return f
}

// run runs a command and returns what it says and its exit code.
func (f *tofu) run(args ...string) (string, int) {
	f.w.Helper()
	cmd := exec.CommandContext(f.w.Context(), f.program, args...)
	cmd.Dir = f.folder
	cmd.Env = append(append(os.Environ(), f.w.login...), "TF_CLI_CONFIG_FILE="+filepath.Join(f.folder, "tofurc"), "CHECKPOINT_DISABLE=1", "NO_COLOR=1", "TF_CLI_ARGS=-no-color")
	out, err := cmd.CombinedOutput()
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		return string(out), ended.ExitCode()
	}
	f.w.must(err)
	return string(out), 0
}

// unchanged fails unless a plan with the state of before is empty.
func (f *tofu) unchanged(when string) {
	f.w.Helper()
	if out, code := f.run("plan", "-input=false", "-detailed-exitcode"); code != 0 {
		f.w.Errorf("%s, OpenTofu's plan ends with %d:\n%s", when, code, out)
	}
}
