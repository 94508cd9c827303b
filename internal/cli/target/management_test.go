package target

import (
	"path/filepath"
	"testing"

	"github.com/slipway-sh/slipway/internal/config"
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
