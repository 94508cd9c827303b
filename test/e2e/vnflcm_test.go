package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/component"
)

// nfv is the project's namespace of the endpoint, and the folder of its client's files.
const nfv = "nfv"

// TestVNFLifecycle has Debian's tackerclient drive the life of a cluster of machines, by an
// endpoint that runs as Pods of a management cluster behind a load balancer. Its Pods are
// deleted while a cluster is made: the operation fails, and goes on when it is retried.
// SLIPWAY_TACKERCLIENT is the folder of the client's modules.
func TestVNFLifecycle(t *testing.T) {
	if os.Getenv("SLIPWAY_PROOFS") == "" || os.Getenv("SLIPWAY_TACKERCLIENT") == "" {
		t.Skip("SLIPWAY_PROOFS or SLIPWAY_TACKERCLIENT is not set")
	}
	if !isolate(t) {
		return
	}
	p := newProject(t)
	p.append(managementCluster)
	defer p.tell()
	p.upForTenants()
	p.timed("the endpoint", p.serveVNFs)
	p.vnfPackage()
	before := p.servers()

	made := p.vnf("create", p.onboarded(), "--name", "shop", "-f", "value", "-c", "ID")
	p.vnf("instantiate", made, filepath.Join("requests", "instantiate.json"))
	p.eventually("the package's Cluster", 2*time.Minute, func() (string, bool) {
		out, err := p.on("", "--namespace", nfv, "get", "clusters", "-o", "name")
		return out, err == nil && strings.Count(out, "cluster.cluster.x-k8s.io/") == 1
	})
	p.killEndpoint()
	op := p.operation("INSTANTIATE", "FAILED_TEMP", 3*time.Minute)
	p.vnf("op", "retry", op)
	p.timed("instantiation", func() { p.operation("INSTANTIATE", "COMPLETED", 15*time.Minute) })
	p.moreServers(before, 2)

	p.vnf("scale", "--type", "SCALE_OUT", "--aspect-id", "workers_scale", "--number-of-steps", "1", made)
	p.timed("scaling", func() { p.operation("SCALE", "COMPLETED", 10*time.Minute) })
	p.moreServers(before, 3)

	p.vnf("terminate", made)
	p.timed("termination", func() { p.operation("TERMINATE", "COMPLETED", 10*time.Minute) })
	p.moreServers(before, 0)
	p.vnf("delete", made)
	if left := p.vnf("list", "-f", "value"); left != "" {
		t.Errorf("instances after the deletion: %s", left)
	}
	if out, err := p.on("", "--namespace", nfv, "get", "clusters,machines,openstackservers", "-o", "name"); err != nil || out != "" {
		t.Errorf("left on the management cluster: %v\n%s", err, out)
	}
}

// serveVNFs installs the endpoint as docs/guides/vnflcm.md says, on an address of its own.
func (p *project) serveVNFs() {
	p.t.Helper()
	admin := func(args ...string) string {
		return p.openstack(append([]string{"--os-cloud", "sandbox-admin"}, args...)...)
	}
	admin("user", "create", "--password", "endpoint-password", "vnflcm")
	admin("role", "add", "--project", "service", "--user", "vnflcm", "service")
	address := strings.TrimSpace(p.openstack("floating", "ip", "create", p.external(), "-f", "value", "-c", "floating_ip_address"))
	url := "https://" + address + ":9890"
	admin("service", "create", "--name", "slipway", "nfv-orchestration")
	admin("endpoint", "create", "--region", "RegionOne", "nfv-orchestration", "public", url)
	clouds, err := yaml.Marshal(map[string]any{"clouds": map[string]any{"vnflcm": map[string]any{"region_name": "RegionOne", "auth": map[string]any{
		"auth_url": p.authURL().String(), "username": "vnflcm", "password": "endpoint-password", "project_name": "service",
		"user_domain_name": "Default", "project_domain_name": "Default"}}}})
	if err != nil {
		p.t.Fatal(err)
	}
	values, err := yaml.Marshal(map[string]any{"vnflcm": map[string]any{"publicEndpoint": url, "address": address, "clouds": string(clouds)}})
	if err == nil {
		err = os.WriteFile(filepath.Join(p.folder, "endpoint.yaml"), values, 0o600)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	if out, err := p.on(p.do("tacker", "endpoint", "endpoint.yaml"), "apply", "--server-side", "-f", "-"); err != nil {
		p.t.Fatalf("applying the endpoint: %v\n%s", err, out)
	}
	if out, err := p.on("", "--namespace", "slipway-system", "wait", "deployment/slipway-vnflcm", "--for=condition=Available", "--timeout=3m"); err != nil {
		pods, _ := p.on("", "--namespace", "slipway-system", "get", "pods,events")
		p.t.Fatalf("the endpoint: %v\n%s\n%s", err, out, pods)
	}
	ca, err := p.on("", "--namespace", "slipway-system", "get", "secret", "slipway-vnflcm-authority", "-o", `go-template={{index .data "ca.crt" | base64decode}}`)
	if err == nil {
		err = os.WriteFile(filepath.Join(p.folder, "nfv-ca.pem"), []byte(ca), 0o600)
	}
	if err != nil {
		p.t.Fatalf("the endpoint's authority: %v\n%s", err, ca)
	}
	p.eventually("the endpoint's address", 4*time.Minute, func() (string, bool) {
		out, err := p.tackerclient("list", "-f", "value")
		return out, err == nil
	})
}

// external is the external network.
func (p *project) external() string {
	p.t.Helper()
	return strings.TrimSpace(p.openstack("network", "list", "--external", "-f", "value", "-c", "ID"))
}

// vnfPackage makes and onboards the package of a cluster with one control plane and one
// worker, whose namespace is the project's.
func (p *project) vnfPackage() {
	p.t.Helper()
	p.definitions()
	image := p.openstack("image", "list", "-f", "value", "-c", "ID", "-c", "Name")
	node := ""
	for line := range strings.Lines(image) {
		if id, name, _ := strings.Cut(strings.TrimSpace(line), " "); strings.Contains(name, "node") {
			node = id
		}
	}
	spec := "name: shop\nversion: \"1.0\"\nprovider: Example\nvalues:\n  kubernetesVersion: " + strings.TrimPrefix(component.KubernetesVersion, "v") +
		"\n  machineImageId: " + node + "\n  cloudCredentialsSecretName: shop-cloud\n  addons: {cni: {type: flannel}}\n" +
		"  clusterNetworking: {externalNetworkId: " + p.external() + "}\n" +
		"  controlPlane: {machineCount: 1, machineFlavor: m1.medium}\n  nodeGroups: [{name: workers, machineCount: 1, machineFlavor: m1.medium}]\n" +
		"scaling:\n  workers: {min: 1, max: 3, step: 1}\n"
	if err := os.WriteFile(filepath.Join(p.folder, "shop.yaml"), []byte(spec), 0o600); err != nil {
		p.t.Fatal(err)
	}
	p.do("tacker", "csar", "workload", "shop.yaml", "--types", "sol001")
	p.requests("shop.csar", nfv)
	project := strings.TrimSpace(p.openstack("project", "show", "demo", "-f", "value", "-c", "id"))
	secret, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": []any{
		map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": nfv, "labels": map[string]any{"vnflcm.slipway.sh/project": project}}},
		map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "shop-cloud", "namespace": nfv}, "stringData": map[string]any{"clouds.yaml": p.clouds("shop-cloud")}}}})
	if err != nil {
		p.t.Fatal(err)
	}
	if out, err := p.on(string(secret), "apply", "-f", "-"); err != nil {
		p.t.Fatalf("making the namespace: %v\n%s", err, out)
	}
}

// onboarded offers the package, and returns its vnfdId.
func (p *project) onboarded() string {
	p.t.Helper()
	id, _, _ := strings.Cut(p.do("tacker", "onboard", "shop.csar", "--kubeconfig", filepath.Join(".slipway", "management.kubeconfig")), " ")
	return id
}

// tackerclient is `openstack vnflcm …` of Debian's client, as a member of the project.
func (p *project) tackerclient(args ...string) (string, error) {
	cmd := exec.CommandContext(p.t.Context(), "openstack", append([]string{"--os-cloud", "sandbox", "--os-tacker-api-version", "2", "vnflcm"}, args...)...)
	cmd.Dir = p.folder
	cmd.Env = append(os.Environ(), "OS_CLIENT_CONFIG_FILE="+filepath.Join(p.dir, "clouds.yaml"), "OS_CACERT="+filepath.Join(p.folder, "nfv-ca.pem"),
		"PYTHONWARNINGS=ignore", "PYTHONPATH="+os.Getenv("SLIPWAY_TACKERCLIENT"))
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// vnf is tackerclient that must succeed.
func (p *project) vnf(args ...string) string {
	p.t.Helper()
	out, err := p.tackerclient(args...)
	if err != nil {
		p.t.Fatalf("openstack vnflcm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// operation waits until an operation of a kind is in a state, and returns its id.
func (p *project) operation(kind, state string, within time.Duration) (id string) {
	p.t.Helper()
	p.eventually(kind+" "+state, within, func() (string, bool) {
		time.Sleep(clientPause)
		var rows []map[string]any
		out, err := p.tackerclient("op", "list", "-f", "json")
		if err != nil || json.Unmarshal([]byte(out), &rows) != nil {
			return out, false
		}
		for _, row := range rows {
			if row["Operation"] == kind && row["Operation State"] == state {
				id, _ = row["ID"].(string)
				return out, true
			}
			if row["Operation"] == kind && row["Operation State"] == "FAILED_TEMP" {
				op, _ := p.tackerclient("op", "show", row["ID"].(string))
				p.t.Fatalf("%s failed:\n%s", kind, op)
			}
		}
		return out, false
	})
	return id
}

// killEndpoint ends all of its Pods at once, as a node that dies does.
func (p *project) killEndpoint() {
	p.t.Helper()
	if out, err := p.on("", "--namespace", "slipway-system", "delete", "pods", "-l", "app.kubernetes.io/name=slipway-vnflcm", "--grace-period=0", "--force"); err != nil || strings.Count(out, "force deleted") != 2 {
		p.t.Fatalf("ending the endpoint's Pods: %v\n%s", err, out)
	}
}

// moreServers wants that many servers more than before, each of the cluster.
func (p *project) moreServers(before map[string]string, more int) {
	p.t.Helper()
	if now := p.servers(); len(now) != len(before)+more {
		p.t.Errorf("servers were %v, are %v", before, now)
	}
}
