package e2e

import (
	"encoding/json"
	"strings"
	"time"
)

// restoreSnapshot has the check of the tenant's storage write a volume and restore it from a
// snapshot. Nothing of it is left in the cloud.
func (p *project) restoreSnapshot() {
	p.t.Helper()
	p.eventually("the class of snapshots", 3*time.Minute, func() (string, bool) {
		out, err := p.shop("", "get", "volumesnapshotclasses", "-o", "jsonpath={.items[*].metadata.name} {.items[*].driver}")
		return out, err == nil && out == "csi-cinder cinder.csi.openstack.org"
	})
	namespace, name := p.tenantCluster()
	var result struct {
		Passed bool
		Steps  []struct{ Name, State, Detail string }
	}
	out, err := p.command("check", "storage", name, "--namespace", namespace, "-o", "json").Output()
	if decoded := json.Unmarshal(out, &result); decoded != nil {
		p.t.Fatalf("the check of the tenant's storage: %v, %v\n%s", err, decoded, out)
	}
	states := map[string]string{}
	for _, s := range result.Steps {
		states[s.Name] = s.State + ": " + s.Detail
	}
	if !result.Passed || !strings.HasPrefix(states["volume"], "passed: ") || !strings.HasPrefix(states["snapshot"], "passed: class csi-cinder: restored and read on ") {
		said, _ := p.shop("", "-n", "openstack-system", "logs", "deployment/snapshot-controller", "--tail", "40")
		p.t.Errorf("the check of the tenant's storage: %v\n%v\nthe controller said:\n%s", err, states, said)
	}
	p.eventually("nothing is left of the check in Cinder", 2*time.Minute, func() (string, bool) {
		left := p.openstack("volume", "snapshot", "list", "-f", "value", "-c", "Name")
		return left, !strings.Contains(left, "snapshot-") // as the CSI driver calls them
	})
}
