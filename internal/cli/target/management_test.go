package target

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/internal/vain"
	"github.com/slipway-sh/slipway/stacks/workload"
)

// proves: S-37
func TestClustersDoNotShareAKubeconfig(t *testing.T) {
	t.Parallel()
	loaded := &config.Loaded{Dir: "/project"}
	seen := map[string]workload.Key{}
	for _, key := range []workload.Key{{Namespace: "a", Name: "a"}, {Namespace: "b", Name: "a"}, {Namespace: "a-b", Name: "c"}, {Namespace: "a", Name: "b-c"}} {
		path := ClusterKubeconfig(loaded, key)
		if other, taken := seen[path]; taken || filepath.Dir(path) != "/project/.slipway/clusters" {
			t.Errorf("%s of %s, and of %s", path, key, other)
		}
		seen[path] = key
	}
	if path := ClusterKubeconfig(loaded, workload.Key{Namespace: "shop", Name: "shop"}); path != "/project/.slipway/clusters/shop.kubeconfig" {
		t.Errorf("of shop it is %s", path)
	}
}

// TestAKubeconfigThatCannotBeReadIsSaidAtOnce, before the seed is asked, which does not answer.
func TestAKubeconfigThatCannotBeReadIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"none", "apiVersion: v1\nkind: Config\n"} {
		_, _, err := (&Seed{Name: "demo-seed", Management: text}).OpenManagement(t.Context(), &config.Loaded{})
		var w vain.Watch
		if err == nil || !strings.Contains(err.Error(), "its kubeconfig in the state cannot be used: ") || fault.Remedy(err) == "" || !w.Ends(err) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestClustersInOtherProjects have the operator's own login, and an administrator who makes
// projects.
//
// proves: S-88
func TestClustersInOtherProjects(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	loaded := &config.Loaded{Environment: &config.Environment{Metadata: config.Metadata{Name: "prod"}}}
	text, err := os.ReadFile(box.CloudsYAML())
	if err != nil {
		t.Fatal(err)
	}
	opened, err := cloud.Open(t.Context(), cloud.Options{Cloud: "sandbox", CloudsYAML: text})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	target := &Target{Loaded: loaded, Cloud: opened, administrator: newAdministrator(loaded)}
	c, err := target.WorkloadCloud(&Seed{credential: map[string]any{"roles": []string{"member"}}})
	if err != nil || c.Operator != opened || c.Administrator == nil {
		t.Errorf("%+v, %v", c, err)
	}
}
