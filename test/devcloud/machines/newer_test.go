package machines

import (
	"os"
	"strings"

	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/test/devcloud/operator"
)

// newer is what an operator does with a release. Nova boots another server from the newer image,
// with the data volume and the address of the former: what the seed knew is there, with another
// k3s and another Cluster API.
func (r *run) newer() {
	r.T.Helper()
	const version = `jsonpath={.items[0].status.nodeInfo.kubeletVersion}`
	before, server := r.onSeed("get", "nodes", "-o", version), r.server("real-seed")
	if before == component.K3sVersion {
		r.T.Fatalf("the older Slipway has %s, as this one", before)
	}
	program, err := operator.Program()
	if err != nil {
		r.T.Fatal(err)
	}
	r.onSeed("create", "configmap", "kept", "--from-literal", "a=b")
	r.Use(program, os.Getenv("SLIPWAY_BUNDLE"))
	r.up()
	if now := r.onSeed("get", "nodes", "-o", version); now != component.K3sVersion {
		r.T.Errorf("k3s was %s and is %s, not %s", before, now, component.K3sVersion)
	}
	if now := r.server("real-seed"); now == server {
		r.T.Errorf("the seed is still server %s, of the older image", server)
	}
	if kept := r.onSeed("get", "configmap", "kept", "-o", "jsonpath={.data.a}"); kept != "b" {
		r.T.Errorf("what was there before: %q", kept)
	}
	inventory := r.onSeed("get", "providers.clusterctl.cluster.x-k8s.io", "-A", "-o", `jsonpath={range .items[*]}{.metadata.name}={.version} {end}`)
	for _, provider := range component.Providers(component.DefaultVersions()) {
		if !strings.Contains(inventory, provider.Label+"="+provider.Version) {
			r.T.Errorf("the inventory has no %s %s: %s", provider.Label, provider.Version, inventory)
		}
	}
	r.nothingToDo()
}

// server is the id of a server.
func (r *run) server(name string) string {
	r.T.Helper()
	return strings.TrimSpace(r.OpenStack("server", "show", name, "-f", "value", "-c", "id"))
}

// onSeed is what kubectl on the seed prints.
func (r *run) onSeed(args ...string) string {
	r.T.Helper()
	return strings.TrimSpace(r.Do(append([]string{"ssh", "--", "sudo", "kubectl"}, args...)...))
}
