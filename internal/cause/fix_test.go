package cause

import (
	"strings"
	"testing"
)

func TestFixesNameTheObjects(t *testing.T) {
	t.Parallel()
	chain := []Ref{{Kind: "Cluster", Name: "shop"}, {Kind: "Machine", Name: "shop-w1"}, {Kind: "server", Name: "shop-w1-s"}, {Kind: "floating IP", Name: "203.0.113.7"}}
	for fix, want := range map[string]string{
		"delete it: kubectl delete machine NAME; see openstack server event list SERVER": "delete it: kubectl delete machine shop-w1 --namespace prod; see openstack server event list shop-w1-s",
		"console log show SERVER: kubeadm writes there":                                  "console log show shop-w1-s: kubeadm writes there",
		"slipway why MACHINE, kubectl patch cluster NAME --type merge":                   "slipway why shop-w1, kubectl patch cluster shop --namespace prod --type merge",
		"openstack floating ip set --port PORT ADDRESS; curl https://ADDRESS:PORT":       "openstack floating ip set --port PORT 203.0.113.7; curl https://ADDRESS:PORT",
		"run slipway certs renew CLUSTER; then slipway certs renew CLUSTER":              "run slipway certs renew shop --namespace prod; then slipway certs renew shop --namespace prod",
		"set --external-gateway NETWORK ROUTER, on SERVERS":                              "set --external-gateway NETWORK ROUTER, on SERVERS",
	} {
		if got := (Finding{Fix: fix, Chain: chain}).fill("prod"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	odd := Finding{Fix: "kubectl delete machine NAME", Chain: []Ref{{Kind: "Machine", Name: "x; rm -r /"}}}
	if got := odd.fill(""); got != odd.Fix {
		t.Errorf("a name that a shell reads came into %q", got)
	}
}

// TestTheFixOfACredentialIsTheCommandForItsCluster: who made the cluster, and whether it is
// being deleted, decides which.
func TestTheFixOfACredentialIsTheCommandForItsCluster(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ namespace, deleted, secret, uuid, want string }{
		"an operator's":         {"shop", "", "c-application-credential", "", "run slipway cluster rotate-credential c --namespace shop"},
		"one that goes":         {"shop", ", deletionTimestamp: \"2026-01-02T09:00:00Z\"", "c-application-credential", "", "run slipway cluster delete c --namespace shop again, which makes a new credential"},
		"a tenant's":            {"magnum-p1", "", "c-cloud-credentials", "", "run openstack coe credential rotate CLUSTER, as its owner"},
		"a tenant's, by UUID":   {"magnum-p1", "", "c-cloud-credentials", "379ac8a7", "run openstack coe credential rotate 379ac8a7, as its owner"},
		"a tenant's that goes":  {"magnum-p1", ", deletionTimestamp: \"2026-01-02T09:00:00Z\"", "c-cloud-credentials", "379ac8a7", "run openstack coe cluster delete 379ac8a7 again, which makes a new credential, as its owner"},
		"of several":            {"shop", "", "all, type: ClusterIdentity", "", "run kubectl edit openstackclusteridentity all, which names the Secret and the namespaces that may use it"},
		"the environment's own": {"default", "", "c-cloud-credentials", "", "run slipway up if it is the management cluster; else write a clouds.yaml that works into Secret default/c-cloud-credentials"},
	} {
		objects := read(t, "kind: Cluster\nmetadata: {name: c, namespace: "+c.namespace+c.deleted+"}\n---\nkind: OpenStackCluster\nmetadata: {name: c, namespace: "+c.namespace+"}\nspec: {identityRef: {name: "+c.secret+"}}\n")
		for _, cloud := range []*Cloud{{Refused: &Refusal{Absent: true, Words: "not found"}}, {Refused: &Refusal{Status: 401, Words: "requires authentication"}}, {Refused: &Refusal{Status: 403, Words: "forbidden"}}} {
			found := Explain(Snapshot{Objects: objects, Cloud: cloud, Magnum: c.uuid, Now: now}).Findings
			if len(found) != 1 || found[0].Object != (Ref{Kind: "credential", Name: strings.Split(c.secret, ",")[0]}) || !strings.HasSuffix(found[0].Fix, c.want) {
				t.Errorf("%s: %+v", name, found)
			}
		}
	}
}

// TestFixesAreWhatWorks: commands and settings that are refused, or that are about something else,
// are no fix.
func TestFixesAreWhatWorks(t *testing.T) {
	t.Parallel()
	fixes := map[string]string{}
	for _, r := range All() {
		fixes[r.ID] = r.Fix
	}
	for id, want := range map[string]string{
		"server-group-refused": "serverGroup.name of the machines instead of serverGroup.policy",
		"not-ready":            "kubectl logs --namespace capo-system deployment/capo-controller-manager",
		"controller-says":      "kubectl logs --namespace capo-system deployment/capo-controller-manager",
		"etcd-no-space":        "slipway etcd defrag as root on a control plane",
		"writes-stall":         "slipway etcd defrag as root on a control plane",
		"certificate-expired":  "kubeadm certs renew all",
		"load-balancer-error":  "openstack loadbalancer delete --cascade LOAD-BALANCER: within twenty minutes Cluster API creates another with the same address",
		"load-balancer-gone":   "Cluster API creates another with the same address and floating IP",
	} {
		if !strings.Contains(fixes[id], want) {
			t.Errorf("the fix of %s does not say %q: %s", id, want, fixes[id])
		}
	}
}
