package cause

import "testing"

func TestFixesNameTheObjects(t *testing.T) {
	t.Parallel()
	chain := []Ref{{Kind: "Cluster", Name: "shop"}, {Kind: "Machine", Name: "shop-w1"}, {Kind: "server", Name: "shop-w1-s"}, {Kind: "floating IP", Name: "203.0.113.7"}}
	for fix, want := range map[string]string{
		"delete it: kubectl delete machine NAME; see openstack server event list SERVER": "delete it: kubectl delete machine shop-w1 --namespace prod; see openstack server event list shop-w1-s",
		"console log show SERVER: kubeadm writes there":                                  "console log show shop-w1-s: kubeadm writes there",
		"slipway why MACHINE, kubectl patch cluster NAME --type merge":                   "slipway why shop-w1, kubectl patch cluster shop --namespace prod --type merge",
		"openstack floating ip set --port PORT ADDRESS; curl https://ADDRESS:PORT":       "openstack floating ip set --port PORT 203.0.113.7; curl https://ADDRESS:PORT",
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
