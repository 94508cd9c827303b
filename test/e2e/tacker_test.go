package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/addons/tacker/tackertest"
)

// TestTackerManagement has Tacker's Helm driver install the package of a management cluster
// on a k3s with a node, which has nothing but what k3s brings. The definitions are
// established, the controllers run and do their work, and the package cannot be terminated
// while a cluster exists. CI has no time for another seed: make guarded-machines runs it.
//
// proves: T-26
func TestTackerManagement(t *testing.T) {
	if os.Getenv("SLIPWAY_PROOFS") == "" {
		t.Skip("SLIPWAY_PROOFS is not set")
	}
	if !isolate(t) {
		return
	}
	p := newProject(t)
	defer p.tellSeed()
	p.timed("up", func() { p.up() })
	p.emptySeed()
	tacker := p.tacker()
	pkg, bodies := p.managementPackage(tacker)
	i, err := tacker.Instance(t, pkg)
	if err != nil {
		t.Fatal(err)
	}
	p.timed("instantiation", func() {
		if err := i.Instantiate(bodies["instantiate"]); err != nil {
			t.Fatal(err)
		}
	})
	p.expectProviders()
	p.established()
	p.expectReconciled()
	if err := i.Terminate(bodies["terminate"]); tackertest.Status(err) != 422 || !strings.Contains(err.Error(), "1 clusters still exist: default/shop") {
		t.Errorf("terminated with a cluster: %v", err)
	}
	p.expectProviders()
	p.kubectl("delete", "cluster", "shop", "--timeout=2m")
	p.timed("termination", func() {
		if err := i.Terminate(bodies["terminate"]); err != nil {
			t.Fatal(err)
		}
	})
	if left := p.kubectl("get", "deployments", "-A", "-o", "name"); strings.Contains(left, "capi-") || strings.Contains(left, "capo-") {
		t.Errorf("after the termination there are\n%s", left)
	}
}

// emptySeed gives the seed's k3s an empty datastore: what Slipway installed is gone.
func (p *project) emptySeed() {
	p.t.Helper()
	p.do("ssh", "--", "sudo", "sh", "-ec", "systemctl stop k3s; rm -rf /var/lib/rancher/k3s/server/db; systemctl start k3s")
	p.eventually("an empty k3s with its node", 3*time.Minute, func() (string, bool) {
		out, err := p.by("seed.kubeconfig", "", "get", "nodes,deployments,customresourcedefinitions", "-A", "--no-headers")
		return out, err == nil && strings.Contains(out, " Ready ") && !strings.Contains(out, "cluster.x-k8s.io") && strings.Contains(out, "deployment.apps/coredns")
	})
}

// tacker is one whose VIM is the seed. Pods are the kubelet's.
func (p *project) tacker() *tackertest.Tacker {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.folder, ".slipway", "seed.kubeconfig"))
	if err != nil {
		p.t.Fatal(err)
	}
	return tackertest.WithNodes(p.t, p.seedConfig(), text)
}

// managementPackage is made, and its requests, as an operator does.
func (p *project) managementPackage(tacker *tackertest.Tacker) (*tackertest.Package, map[string]map[string]any) {
	p.t.Helper()
	p.definitions()
	p.do("tacker", "csar", "mgmt", "--bundle", bundleDir(p.t), "--types", "sol001", "--out", "mgmt.csar")
	content, err := os.ReadFile(filepath.Join(p.folder, "mgmt.csar"))
	if err != nil {
		p.t.Fatal(err)
	}
	return tacker.Onboard(p.t, content), p.requests("mgmt.csar", "capi-mgmt")
}

// definitions stand in for ETSI's, which only a real Tacker reads.
func (p *project) definitions() {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Join(p.folder, "sol001"), 0o755); err != nil {
		p.t.Fatal(err)
	}
	for _, name := range []string{"etsi_nfv_sol001_common_types.yaml", "etsi_nfv_sol001_vnfd_types.yaml"} {
		if err := os.WriteFile(filepath.Join(p.folder, "sol001", name), []byte("x"), 0o644); err != nil {
			p.t.Fatal(err)
		}
	}
}

// requests are the bodies of a package's steps, which are in the folder requests afterwards.
func (p *project) requests(csar, namespace string) map[string]map[string]any {
	p.t.Helper()
	p.do("tacker", "requests", csar, "--namespace", namespace)
	bodies := map[string]map[string]any{}
	for _, file := range paths(p.t, filepath.Join(p.folder, "requests", "*.json")) {
		text, err := os.ReadFile(file)
		body := map[string]any{}
		if err == nil {
			err = json.Unmarshal(text, &body)
		}
		if err != nil {
			p.t.Fatal(err)
		}
		bodies[strings.TrimSuffix(filepath.Base(file), ".json")] = body
	}
	return bodies
}

// established: all definitions of the providers are served.
func (p *project) established() {
	p.t.Helper()
	out := p.kubectl("get", "customresourcedefinitions", "-o", `jsonpath={range .items[*]}{.metadata.name}={.status.conditions[?(@.type=="Established")].status}{"\n"}{end}`)
	served := 0
	for _, one := range strings.Fields(out) {
		name, is, _ := strings.Cut(one, "=")
		if is != "True" {
			p.t.Errorf("definition %s: established is %q", name, is)
		}
		if strings.Contains(name, "cluster.x-k8s.io") || strings.Contains(name, "cert-manager.io") {
			served++
		}
	}
	if served < 20 {
		p.t.Errorf("%d definitions of the providers: %s", served, out)
	}
}

// expectReconciled makes a Cluster: the webhooks refuse a wrong one, and the controller
// holds the other.
func (p *project) expectReconciled() {
	p.t.Helper()
	const cluster = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: shop, namespace: default}\nspec:\n  clusterNetwork: {serviceDomain: cluster.local}\n"
	if out, err := p.by("seed.kubeconfig", cluster, "apply", "-f", "-"); err == nil || !strings.Contains(out, "must be set") {
		p.t.Errorf("a cluster without infrastructure: %v\n%s", err, out)
	}
	whole := cluster + "  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackCluster, name: shop}\n"
	if out, err := p.by("seed.kubeconfig", whole, "apply", "-f", "-"); err != nil {
		p.t.Fatalf("making a cluster: %v\n%s", err, out)
	}
	p.eventually("the controller's finalizer", time.Minute, func() (string, bool) {
		out, err := p.by("seed.kubeconfig", "", "get", "cluster", "shop", "-o", "jsonpath={.metadata.finalizers}")
		return out, err == nil && strings.Contains(out, "cluster.cluster.x-k8s.io")
	})
}
