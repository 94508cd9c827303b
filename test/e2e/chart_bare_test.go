package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// bareCluster has no addons, no workers and no floating IP, on the seed's network;
// etcd is on a disk of the server's own. What it needs to be ready is brought by
// its user: the pod network, and the servers' ids, which the cloud controller
// manager would tell.
//
// proves: F36, F39, F82, F84, S-54, S-55
func (p *project) bareCluster() *release {
	p.t.Helper()
	p.openstack("--os-cloud", "sandbox-admin", "flavor", "create", "--vcpus", "2", "--ram", "4096", "--disk", "40", "--ephemeral", "4", "local")
	const registration = `{nodeRegistration: {kubeletExtraArgs: {cloud-provider: null, provider-id: "openstack:///{{ instance_id }}"}}}`
	return p.release("bare", `
controlPlane:
  machineCount: 1
  machineFlavor: local
  certificatesExpiryDays: 21
  kubeadmConfigSpec: {initConfiguration: `+registration+`, joinConfiguration: `+registration+`}
nodeGroups: []
etcd: {blockDevice: {size: 2, type: Local}, nice: -5}
kubeNetwork: {pods: {cidrBlocks: [10.244.0.0/16]}}
clusterNetworking: {internalNetwork: {networkFilter: {name: demo-network}, subnetFilter: {name: demo-subnet}}}
apiServer: {associateFloatingIP: false}
addons: {enabled: false}
`)
}

// shielded runs kubectl on the cluster from the seed, whose network alone
// reaches it.
func (r *release) shielded(stdin string, args ...string) (string, error) {
	cmd := r.command(append([]string{"ssh", "--", "kubectl", "--kubeconfig", "/tmp/" + r.name + ".kubeconfig"}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	return answer(cmd)
}

// finish brings what the cluster lacks, waits for it as the commands do, and
// looks at its way in and its disk.
func (r *release) finish() {
	r.t.Helper()
	r.eventually("kubeconfig", 10*time.Minute, func() (string, bool) {
		out, err := r.by("seed.kubeconfig", "", "-n", r.name, "get", "secret", r.name+"-kubeconfig")
		return out, err == nil
	})
	r.do("ssh", "--", "sh", "-c", "kubectl -n "+r.name+" get secret "+r.name+"-kubeconfig -o 'jsonpath={.data.value}' | base64 -d >/tmp/"+r.name+".kubeconfig")
	flannel, err := os.ReadFile(filepath.Join(bundleDir(r.t), "manifests", "kube-flannel.yaml"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.eventually("a pod network", 10*time.Minute, func() (string, bool) {
		out, err := r.shielded(string(flannel), "apply", "-f", "-")
		return out, err == nil
	})
	r.ready(10 * time.Minute)
	if addons := r.onSeed("get", "helmreleases.addons.stackhpc.com,manifests.addons.stackhpc.com,machinedeployments", "-o", "name"); addons != "" {
		r.t.Errorf("addons and node groups: %s", addons)
	}

	address := r.onSeed("get", "cluster", r.name, "-o", "jsonpath={.spec.controlPlaneEndpoint.host}")
	balancer := r.onSeed("get", "openstackcluster", r.name, "-o", "jsonpath={.status.apiServerLoadBalancer.id}")
	if vip := r.openstack("loadbalancer", "show", balancer, "-f", "value", "-c", "vip_address"); address != vip {
		r.t.Errorf("the endpoint is %s, the load balancer's address %s", address, vip)
	}
	if addresses := r.openstack("floating", "ip", "list", "-f", "value", "-c", "Fixed IP Address"); strings.Contains(addresses, address) {
		r.t.Errorf("a floating IP leads to %s:\n%s", address, addresses)
	}
	server := r.server()
	r.etcdDevice(server)
	r.etcdPriority(server, -5)
	if volumes := r.attached(server); len(volumes) != 0 {
		r.t.Errorf("a local disk that is a volume: %+v", volumes)
	}
}

// server is that of the only machine.
func (r *release) server() string {
	r.t.Helper()
	return r.onSeed("get", "openstackmachines", "-o", "jsonpath={.items[0].status.instanceID}")
}

// renew has the certificates of the only control plane end in ten days, which
// Cluster API believes the annotation: it is replaced, and by one that lasts.
func (r *release) renew() {
	r.t.Helper()
	before := r.machines()
	const path = "jsonpath={.items[0].status.certificatesExpiryDate}"
	known := r.onSeed("get", "machines", "-o", path)
	if end, err := time.Parse(time.RFC3339, known); err != nil || time.Until(end) < 300*24*time.Hour || len(before) != 1 {
		r.t.Fatalf("of %q the certificates end %s: %v", before, known, err)
	}
	r.onSeed("annotate", "machine", before[0], "machine.cluster.x-k8s.io/certificates-expiry="+time.Now().Add(10*24*time.Hour).UTC().Format(time.RFC3339))
	r.eventually("replacement of "+before[0], 10*time.Minute, func() (string, bool) {
		now := r.onSeed("get", "machines", "-o", "jsonpath={range .items[*]}{.metadata.name}={.status.phase} {end}")
		return now, !strings.Contains(now, before[0]) && strings.Count(now, "=Running") == 1 && strings.Count(now, "=") == 1
	})
	if end, err := time.Parse(time.RFC3339, r.onSeed("get", "machines", "-o", path)); err == nil && time.Until(end) < 300*24*time.Hour {
		r.t.Errorf("the certificates of the next end %s", end)
	}
}
