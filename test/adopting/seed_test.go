package adopting

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	command "github.com/slipway-sh/slipway/internal/cli/adopt"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/workload/adopt"
)

// TestSeed has two API servers: a seed of azimuth-ops, and the management cluster whose
// kubeconfig Cluster API keeps on the seed. One command takes both over.
func TestSeed(t *testing.T) {
	if os.Getenv("SLIPWAY_PROOFS") == "" {
		t.Skip("SLIPWAY_PROOFS is not set")
	}
	management := azimuth(t, "tenant")
	seed := azimuth(t, "capi-mgmt-prod")
	secret := seed.get("Secret", "default", "capi-mgmt-prod-kubeconfig")
	must(t, unstructured.SetNestedStringMap(secret.Object, map[string]string{"value": string(management.kubeconfig)}, "stringData"))
	must(t, seed.client.Update(t.Context(), secret))
	before := []map[string]any{management.everything(), seed.everything()}
	machinery := []map[string]string{management.versions("default"), seed.versions("default")}
	kubeconfig, dir := seed.file("seed.kubeconfig", seed.kubeconfig), filepath.Join(t.TempDir(), "prod")

	seed.twoInOneNamespace(kubeconfig)
	out, err := run(t, "--seed-kubeconfig", kubeconfig, "--dry-run")
	if err != nil || !strings.Contains(out, "release default/capi-mgmt-prod") || !strings.Contains(out, "0 machines would be made, deleted or replaced") {
		t.Errorf("%v\n%s", err, out)
	}
	out, err = run(t, "--seed-kubeconfig", kubeconfig, "--image", "registry.example/slipway:v9", "--output-dir", dir, "-o", "json")
	must(t, err)
	var report struct {
		Environment string
		Rolls       int
		Release     adopt.Cluster
		Files       []string
	}
	must(t, json.Unmarshal([]byte(out), &report))
	if report.Environment != "capi-mgmt-prod" || report.Rolls != 0 || report.Release.Verdict != adopt.Adopt || len(report.Files) != 1 {
		t.Errorf("%+v", report)
	}
	for i, s := range []*site{management, seed} {
		s.runs()
		if diff := cmp.Diff(machinery[i], s.versions("default")); diff != "" {
			t.Errorf("somebody wrote: %s", diff)
		}
	}
	if p := seed.plan(t.Context(), "capi-mgmt-prod", ""); p.Clusters[0].Verdict != adopt.Ours {
		t.Errorf("the release is %s", p.Clusters[0].Verdict)
	}
	file := filepath.Join(dir, "slipway.yaml")
	says(t, file)
	if out, err := run(t, "--seed-kubeconfig", kubeconfig, "--output-dir", dir); err != nil || !strings.Contains(out, "There was nothing to do.") || strings.Contains(out, "release default/capi-mgmt-prod  openstack-cluster") {
		t.Errorf("a second run: %v\n%s", err, out)
	}
	must(t, os.WriteFile(file, []byte("mine"), 0o600))
	if _, err := run(t, "--seed-kubeconfig", kubeconfig, "--output-dir", dir); err == nil || !strings.Contains(err.Error(), "slipway.yaml: it exists already and says something else") {
		t.Errorf("a file of somebody else: %v", err)
	}
	if out, err := run(t, "--seed-kubeconfig", kubeconfig, "--hand-back"); err != nil || !strings.Contains(out, "seed: handed back") {
		t.Errorf("%v\n%s", err, out)
	}
	for i, s := range []*site{management, seed} {
		if diff := cmp.Diff(before[i], s.everything()); diff != "" {
			t.Errorf("not as before: %s", diff)
		}
		if diff := cmp.Diff(machinery[i], s.versions("default")); diff != "" {
			t.Errorf("somebody wrote: %s", diff)
		}
	}
}

// twoInOneNamespace: nothing is written on any cluster.
func (s *site) twoInOneNamespace(kubeconfig string) {
	s.t.Helper()
	other := s.get("Cluster", "default", "capi-mgmt-prod").DeepCopy()
	other.Object["metadata"] = map[string]any{"namespace": "default", "name": "capi-mgmt-test"}
	must(s.t, s.client.Create(s.t.Context(), other))
	before := s.everything()
	_, err := run(s.t, "capi-mgmt-prod", "--seed-kubeconfig", kubeconfig)
	if err == nil || !strings.Contains(err.Error(), "seed: namespace default: 2 management clusters are in it: capi-mgmt-prod, capi-mgmt-test") {
		s.t.Error(err)
	}
	if diff := cmp.Diff(before, s.everything()); diff != "" {
		s.t.Errorf("something was written: %s", diff)
	}
	must(s.t, s.client.Delete(s.t.Context(), other))
}

// says looks at the environment file that was written.
func says(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	if strings.Contains(string(text), "hush") {
		t.Errorf("a credential: %s", text)
	}
	e, err := config.Parse(config.Source{Name: file, Text: text})
	must(t, err)
	m := e.Environment.Spec.ManagementCluster
	if e.Environment.Metadata.Name != "capi-mgmt-prod" || m.KubernetesVersion != "v1.33.5" || m.Image != "5f2fd0bc-3a1e-4b8d-9d1c-3d6e6f6cf7a1" || m.ControlPlane.Count != 3 || m.ControlPlane.Flavor != "m1.medium" ||
		len(m.NodeGroups) != 2 || m.NodeGroups[0].Flavor != "m1.large" || m.NodeGroups[1].Flavor != "g1.large" || m.NodeGroups[0].Count != 2 || e.Environment.Spec.Seed.SSH.KeyPair != "ops" {
		t.Errorf("%s", text)
	}
}

// run is the command.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := command.New(ui.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	cmd.SetArgs(append([]string{"environment"}, args...))
	cmd.SetOut(&errs)
	cmd.SetErr(&errs)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	t.Logf("%v\n%s%s", args, out.String(), errs.String())
	return out.String(), err
}
