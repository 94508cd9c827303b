package adopt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/migrate"
	"github.com/slipway-sh/slipway/stacks/workload/adopt"
)

// checkFile checks that notes name the file of the cluster's own name.
func checkFile(t *testing.T, notes []migrate.Note, cluster string) {
	t.Helper()
	named := 0
	for _, note := range notes {
		file, _, found := strings.Cut(note.To, ".yaml: ")
		if found {
			named++
		}
		if found && file != cluster {
			t.Errorf("%+v", note)
		}
	}
	if named == 0 {
		t.Errorf("no note names the file: %+v", notes)
	}
}

// TestSettings: each cluster's clusterctl.yaml becomes one file, which is not overwritten,
// and every setting is accounted for.
//
// proves: S-36
func TestSettings(t *testing.T) {
	t.Parallel()
	home, out := filepath.Join(t.TempDir(), "copy [1]"), filepath.Join(t.TempDir(), "clusters")
	for name, text := range map[string]string{
		"shop":             "KUBERNETES_VERSION: v1.28.7\nCONTROL_PLANE_MACHINE_COUNT: 3\nWORKER_MACHINE_COUNT: 5\nOPENSTACK_NODE_MACHINE_FLAVOR: SCS-4V-8\nUSE_CILIUM: \"true\"\nNODE_CIDR: 10.8.0.0/20\n",
		"lab":              "WORKER_MACHINE_COUNT: 1\nOPENSTACK_CLOUD_YAML_B64: c2VjcmV0\n",
		"cluster-defaults": "WORKER_MACHINE_COUNT: 9\n",
	} {
		if err := os.MkdirAll(filepath.Join(home, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, name, "clusterctl.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := &scsOptions{settings: home, output: out}
	for range 2 { // the same again is the same
		all, err := o.convert()
		if err != nil || len(all) != 2 || all[0].Cluster != "lab" || len(all[1].Notes) != 6 || len(all[0].Notes) != 2 {
			t.Fatalf("%+v %v", all, err)
		}
		checkFile(t, all[1].Notes, "shop")
		if err := o.vacant(all); err != nil {
			t.Fatal(err)
		}
		if err := o.write(all); err != nil {
			t.Fatal(err)
		}
		if lines := all[1].lines(&adopt.Plan{}); len(lines) != 2 || !strings.HasSuffix(lines[1], "there is no cluster of this name") || !strings.Contains(lines[0], "shop.yaml") {
			t.Error(lines)
		}
	}
	text, err := os.ReadFile(filepath.Join(out, "shop.yaml"))
	for _, want := range []string{"machineCount: 5", "machineFlavor: SCS-4V-8", "machineCount: 3", "type: cilium", "nodeCidr: 10.8.0.0/20"} {
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%q is not in %s %v", want, text, err)
		}
	}
	if text, _ := os.ReadFile(filepath.Join(out, "lab.yaml")); strings.Contains(string(text), "c2VjcmV0") {
		t.Errorf("a secret: %s", text)
	}
	if err := os.WriteFile(filepath.Join(out, "shop.yaml"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := o.convert()
	if err != nil {
		t.Fatal(err)
	}
	if err := o.vacant(all); err == nil || !strings.Contains(err.Error(), "shop.yaml: it exists already") {
		t.Error(err)
	}
}
