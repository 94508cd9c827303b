package cause

import "testing"

// TestADeletedLoadBalancerPasses, because CAPO creates another, unless it says that it cannot.
func TestADeletedLoadBalancerPasses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		said string
		want Ending
	}{
		"CAPO has not looked yet": {`type: Ready, status: "True"`, Passing},
		"CAPO tries again": {`type: Ready, status: "False", severity: Warning, reason: OpenStackError, lastTransitionTime: "2026-01-02T09:58:00Z",
  message: "failed to reconcile load balancer: Load Balancer 1f is immutable and cannot be updated. (409)"`, Passing},
		"the cloud refuses another": {`type: Ready, status: "False", severity: Warning, reason: OpenStackError, lastTransitionTime: "2026-01-02T09:58:00Z",
  message: "failed to reconcile load balancer: Validation failure: the address is invalid. (400)"`, Outside},
		"the cloud refuses what comes before": {`type: Ready, status: "False", severity: Warning, reason: OpenStackError, lastTransitionTime: "2026-01-02T09:58:00Z",
  message: "failed to reconcile network: could not find the external network"`, Outside},
	} {
		a := Explain(Snapshot{Now: now, Cloud: &Cloud{}, Objects: read(t, base+`kind: OpenStackCluster
metadata: {name: c, namespace: prod}
status: {ready: true, apiServerLoadBalancer: {id: "1f", name: api}, conditions: [{`+test.said+`}]}
`)})
		if len(a.Findings) == 0 || a.Findings[0].Reason != "load-balancer-gone" || a.Findings[0].Object.String() != "load balancer api" || a.Findings[0].Ending != test.want {
			t.Errorf("%s: %+v, want %s", name, a.Findings, test.want)
		}
	}
}
