package stacks_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/stacks"
)

// TestAProxyReachesAllThatGoOut: the seed's k3s, all controllers on both clusters,
// and nodes; each with the networks of its own cluster left out.
//
// proves: S-57
func TestAProxyReachesAllThatGoOut(t *testing.T) {
	t.Parallel()
	w, _ := magnumWorld(t)
	w.env.Config.Spec.Proxy = &config.Proxy{HTTPProxy: "http://p:1", HTTPSProxy: "http://p:2", NoProxy: []string{".corp"}}
	w.env.Choices.FloatingCIDRs = []string{"172.24.4.0/24"}
	w.up(t)
	// The list of SCS: configure_proxy.sh, and the networks of machines.
	base := []string{".svc", ".svc.cluster", ".svc.cluster.local", "127.0.0.0/8", "169.254.169.254/32", "fd00:ec2::254/128", ".corp",
		w.env.Config.Spec.Seed.Network.CIDR.String(), "172.24.4.0/24"}
	k3s, m := w.env.Config.Spec.Seed.K3s, w.env.Config.Spec.ManagementCluster
	seed := append(slices.Clone(base), k3s.PodCIDR.String(), k3s.ServiceCIDR.String())
	management := append(slices.Clone(base), m.PodCIDR.String(), m.ServiceCIDR.String())
	for step, direct := range map[string][]string{stacks.StepClusterAPI: seed, stacks.StepControllers: seed,
		stacks.StepManagementClusterAPI: management, stacks.StepManagementControllers: management, stacks.StepMagnum: management} {
		variables, _ := w.state(t, step).Outputs["environment"].(map[string]any)
		if variables["HTTP_PROXY"] != "http://p:1" || variables["HTTPS_PROXY"] != "http://p:2" {
			t.Errorf("%s goes out by %v", step, variables)
		}
		list, _ := variables["NO_PROXY"].(string)
		for _, one := range direct {
			if !slices.Contains(strings.Split(list, ","), one) {
				t.Errorf("%s: %s is not in %s", step, one, list)
			}
		}
	}
	if text := w.state(t, stacks.StepSeed).Text("userData"); !strings.Contains(text, "HTTPS_PROXY=http://p:2") || !strings.Contains(text, seed[len(seed)-1]) {
		t.Errorf("the seed boots with %s", text)
	}
	var values struct{ Proxy map[string]any }
	if err := json.Unmarshal([]byte(w.state(t, stacks.StepManagementCluster).Text("values")), &values); err != nil {
		t.Fatal(err)
	}
	if values.Proxy["httpProxy"] != "http://p:1" || values.Proxy["httpsProxy"] != "http://p:2" {
		t.Errorf("nodes go out by %v", values.Proxy)
	}
}
