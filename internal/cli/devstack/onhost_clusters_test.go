package devstack_test

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	cloudconfig "github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/vishvananda/netns"
)

// acceptance runs gophercloud's own tests of the API, by the address in the catalog.
func (d *devstackHost) acceptance(image images.Image) {
	d.t.Helper()
	auth, _, _, err := cloudconfig.Parse(cloudconfig.WithCloudName("devstack-admin"), cloudconfig.WithLocations(d.site.clouds))
	d.must(err)
	flavor := strings.TrimSpace(d.openstackAs("devstack-admin", "flavor", "show", "ds2G20", "-f", "value", "-c", "id"))
	network := strings.TrimSpace(d.openstackAs("devstack-admin", "network", "show", "public", "-f", "value", "-c", "id"))
	cmd := exec.CommandContext(d.t.Context(), "go", "test", "-count=1", "-v", "-vet=off", "-tags", "fixtures acceptance", "-timeout", "10m",
		"github.com/gophercloud/gophercloud/v2/internal/acceptance/openstack/containerinfra/v1")
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "OS_") })
	cmd.Env = append(cmd.Env, "OS_AUTH_URL="+d.site.keystone, "OS_USERNAME=admin", "OS_PASSWORD="+auth.Password, "OS_PROJECT_NAME=admin", "OS_DOMAIN_ID=default", "OS_REGION_NAME=RegionOne",
		"OS_BRANCH=master", "OS_FLAVOR_ID="+flavor, "OS_FLAVOR_ID_RESIZE=1", "OS_IMAGE_ID="+image.ID, "OS_MAGNUM_IMAGE_ID="+image.ID, "OS_MAGNUM_KEYPAIR=mine",
		"OS_POOL_NAME=public", "OS_EXTGW_ID="+network)
	out, err := cmd.CombinedOutput()
	for _, test := range []string{"TestClusterTemplatesCRUD", "TestQuotasCRUD"} {
		if err != nil || !bytes.Contains(out, []byte("--- PASS: "+test)) {
			d.t.Errorf("gophercloud's %s: %v\n%s", test, err, out)
		}
	}
}

// keypair is a name that a run which was killed has not left.
func keypair() string { return fmt.Sprintf("key-%d", os.Getpid()) }

// shop has a cluster made by Debian's magnumclient, to its server. Its address is one of
// FLOATING_RANGE, to which Cluster API's pods connect.
func (d *devstackHost) shop() {
	d.t.Helper()
	d.openstack("keypair", "create", keypair())
	d.openstack("coe", "cluster", "create", "shop", "--cluster-template", "k8s-v1-34-4", "--keypair", keypair(), "--master-count", "1", "--node-count", "1")
	d.eventually("the server of the control plane", func() bool { return len(d.servers()) == 1 },
		func() string { return d.openstack("coe", "cluster", "show", "shop") + d.objects() })
	for _, table := range []string{"octavia.load_balancer project_id = ? AND provisioning_status = 'ACTIVE'", "neutron.floatingips project_id = ?",
		"neutron.routers project_id = ?", "neutron.ports project_id = ? AND device_owner LIKE 'compute:%'"} {
		if n, err := d.demo.Count(d.t.Context(), table); err != nil || n != "1" {
			d.t.Errorf("%s: %s (%v)", table, n, err)
		}
	}
	d.made = 1
	d.connected(strings.TrimSpace(d.kubectl("get", "clusters.cluster.x-k8s.io", "--all-namespaces", "--output=jsonpath={.items[0].spec.controlPlaneEndpoint.host}")))
}

// connected listens where the API of a cluster would, until a pod of the management cluster
// connects.
func (d *devstackHost) connected(address string) {
	d.t.Helper()
	if rules := d.inNetwork("iptables", "-w", "-S", "INPUT"); !strings.HasPrefix(rules, "-P INPUT DROP") || !strings.Contains(rules, "-s "+d.pods.String()+" -m comment --comment slipway-devstack -j ACCEPT") {
		d.t.Errorf("the firewall is\n%s", rules)
	}
	listener := d.listen(net.JoinHostPort(address, "6443"))
	defer listener.Close()
	caller := make(chan string, 1)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			from, _, _ := strings.Cut(connection.RemoteAddr().String(), ":")
			connection.Close()
			if pod, err := netip.ParseAddr(from); err == nil && d.pods.Contains(pod) {
				caller <- from
				return
			}
		}
	}()
	select {
	case from := <-caller:
		d.t.Logf("a pod at %s connected to %s", from, address)
	case <-time.After(patience):
		d.t.Errorf("no pod connects to %s\n%s", address, d.inNetwork("iptables-save"))
	}
}

// listen listens in the host's network.
func (d *devstackHost) listen(address string) net.Listener {
	d.t.Helper()
	runtime.LockOSThread() // not unlocked: the thread ends with its goroutine, or with the test
	here, err := netns.Get()
	d.must(err)
	defer here.Close()
	there, err := netns.GetFromPath(d.network)
	d.must(err)
	defer there.Close()
	d.must(netns.Set(there))
	listener, failed := net.Listen("tcp", address)
	d.must(netns.Set(here))
	runtime.UnlockOSThread()
	d.must(failed)
	return listener
}

// mine has a cluster made with kubectl, as the page says: CAPO logs in with the application
// credential in the plugin's Secret.
func (d *devstackHost) mine() {
	d.t.Helper()
	const text = `apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata: {name: mine, namespace: default, labels: {cluster.x-k8s.io/cluster-name: mine}}
spec:
  identityRef: {name: slipway-devstack-cloud, cloudName: openstack}
  managedSubnets: [{cidr: 10.61.0.0/24}]
  apiServerLoadBalancer: {enabled: true}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: mine, namespace: default}
spec:
  clusterNetwork: {pods: {cidrBlocks: [10.244.0.0/16]}}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackCluster, name: mine}
`
	d.must(os.WriteFile(d.path("mine.yaml"), []byte(text), 0o600))
	d.applied("mine.yaml")
	d.eventually("the network of a cluster made with kubectl", func() bool {
		n, err := d.demo.Count(d.t.Context(), "octavia.load_balancer project_id = ? AND provisioning_status = 'ACTIVE'")
		d.must(err)
		return n == "2"
	}, d.objects)
}

// applied applies a file of the work folder. A webhook has ten seconds, which are not enough on a
// machine that is busy with others.
func (d *devstackHost) applied(name string) {
	d.t.Helper()
	var said []byte
	apply := d.kubectlWith(d.kubeconfig, "apply", "--filename", d.path(name))
	d.eventually("kubectl apply of "+name, func() bool {
		var err error
		said, err = d.room.command(d.t.Context(), apply[0], apply[1:]...).CombinedOutput()
		return err == nil
	}, func() string { return string(said) })
}

// objects are Cluster API's, for who looks for a cause.
func (d *devstackHost) objects() string {
	d.t.Helper()
	return d.kubectl("get", "clusters.cluster.x-k8s.io,openstackclusters,kubeadmcontrolplanes,machines,openstackmachines", "--all-namespaces", "--output=yaml") +
		d.kubectl("--namespace", "capo-system", "logs", "deployment/capo-controller-manager", "--tail=60")
}

func (d *devstackHost) eventually(what string, holds func() bool, cause func() string) {
	d.t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(time.Second) {
		if time.Now().After(end) {
			d.t.Fatalf("timed out: %s\n%s\n%s", what, cause(), d.logs())
		}
	}
}
