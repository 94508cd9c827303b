package e2e

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// minimalCluster has the least values, but for the pod network, of which the
// bundle has flannel.
//
// proves: F70, F76, F81
func (p *project) minimalCluster() *release {
	p.t.Helper()
	return p.release("minimal", `
controlPlane: {machineFlavor: m1.medium}
nodeGroups: [{name: md-0, machineFlavor: m1.medium, machineCount: 3}]
`)
}

// expectWhole looks for what nobody asked for: three control planes, and the
// cluster's own network, load balancer and floating IP.
func (r *release) expectWhole() {
	r.t.Helper()
	if planes, others := r.nodes(controlPlanes), r.nodes(workers); len(planes) != 3 || len(others) != 3 {
		r.t.Errorf("nodes: %v and %v", planes, others)
	}
	for node := range r.nodes(controlPlanes) {
		if flags := r.oidcFlags(node); len(flags) != 0 {
			r.t.Errorf("the API server of %s has %q without an issuer", node, flags)
		}
	}
	host := r.onSeed("get", "cluster", r.name, "-o", "jsonpath={.spec.controlPlaneEndpoint.host}")
	if addresses := strings.Fields(r.openstack("floating", "ip", "list", "-f", "value", "-c", "Floating IP Address")); !slices.Contains(addresses, host) {
		r.t.Errorf("the API is at %s, the floating IPs are %q", host, addresses)
	}
	for _, kind := range []string{"network", "router", "loadbalancer", "security group"} {
		if len(r.ours(kind)) == 0 {
			r.t.Errorf("there is no %s of the cluster", kind)
		}
	}
}

// ours are the names of things of a kind that have the cluster's name in them.
func (r *release) ours(kind string) (names []string) {
	r.t.Helper()
	for line := range strings.Lines(r.openstack(append(strings.Fields(kind), "list", "-f", "value")...)) {
		if strings.Contains(line, r.name+"-") || strings.Contains(line, "-"+r.name) {
			names = append(names, line)
		}
	}
	return names
}

// impatient are health checks as they are, but of seconds.
const impatient = `
controlPlane: &impatient
  healthCheck:
    spec:
      unhealthyConditions:
        - {type: Ready, status: Unknown, timeout: 30s}
        - {type: Ready, status: "False", timeout: 30s}
nodeGroupDefaults: *impatient
`

// unhealthy silences two control planes and a worker. The worker is replaced, and
// neither of the two; as soon as one of them is back, the other is.
func (r *release) unhealthy() {
	r.t.Helper()
	before := r.machines()
	r.upgrade(impatient)
	planes, others := r.nodes(controlPlanes), r.nodes(workers)
	silent := slices.Sorted(maps.Keys(planes))[:2]
	worker := slices.Sorted(maps.Keys(others))[0]
	for _, server := range []string{planes[silent[0]], planes[silent[1]], others[worker]} {
		r.shell(server, "systemctl stop kubelet")
	}
	check := func(field string) string {
		return r.onSeed("get", "machinehealthcheck", r.name+"-control-plane", "-o", "jsonpath={.status."+field+"}")
	}
	r.eventually("two unhealthy control planes", 5*time.Minute, func() (string, bool) {
		healthy, allowed := check("currentHealthy"), check(`conditions[?(@.type=="RemediationAllowed")].status`)
		return healthy + " healthy, remediation allowed: " + allowed, healthy == "1" && allowed == "False"
	})
	r.eventually("replacement of "+worker, 10*time.Minute, func() (string, bool) {
		out := r.kubectl("get", "nodes", "-l", workers, "--no-headers")
		return out, !strings.Contains(out, worker) && strings.Count(out, " Ready ") == 3
	})
	// All that time the two were unhealthy as well.
	if now := r.machines(); !contains(now, silent) {
		r.t.Errorf("of %q only %q are left", silent, now)
	}
	r.shell(planes[silent[1]], "systemctl start kubelet")
	r.eventually("replacement of "+silent[0], 10*time.Minute, func() (string, bool) {
		now := r.machines()
		return strings.Join(now, " "), !slices.Contains(now, silent[0])
	})
	r.ready(10 * time.Minute)
	gone := slices.DeleteFunc(before, func(name string) bool { return slices.Contains(r.machines(), name) })
	if len(gone) != 2 || !contains(gone, []string{silent[0], worker}) {
		r.t.Errorf("replaced were %q, want %s and %s", gone, silent[0], worker)
	}
}

// machines are the names of the cluster's machines that are not being deleted.
func (r *release) machines() []string {
	r.t.Helper()
	var names []string
	for _, line := range strings.Fields(r.onSeed("get", "machines", "-o", "jsonpath={range .items[*]}{.metadata.name}={.metadata.deletionTimestamp} {end}")) {
		if name, deleted, _ := strings.Cut(line, "="); deleted == "" {
			names = append(names, name)
		}
	}
	return names
}

func contains(all, some []string) bool {
	return !slices.ContainsFunc(some, func(one string) bool { return !slices.Contains(all, one) })
}

// uninstall is Helm's; Cluster API ends the rest by itself, for which it has the
// credential until nothing is left in OpenStack.
func (r *release) uninstall() {
	r.t.Helper()
	secret := r.name + "-cloud-credentials"
	exists := func(kind, name string) bool {
		return r.onSeed("get", kind, name, "--ignore-not-found", "-o", "name") != ""
	}
	if !exists("secret", secret) {
		r.t.Fatalf("there is no Secret %s", secret)
	}
	r.helm("uninstall", r.name)
	r.eventually("end of what Helm left", 10*time.Minute, func() (string, bool) {
		kept := exists("secret", secret) // asked first, so that it cannot be missed between
		if exists("openstackcluster", r.name) {
			if !kept {
				r.t.Fatal("the credential is gone, and the OpenStackCluster is not")
			}
			return "the OpenStackCluster is there", false
		}
		left := r.onSeed("get", "cluster,openstackcluster,kubeadmcontrolplane,machinedeployment,machineset,machine,openstackmachine,openstackmachinetemplate,kubeadmconfigtemplate,kubeadmconfig,machinehealthcheck,helmreleases.addons.stackhpc.com,manifests.addons.stackhpc.com", "--ignore-not-found", "-o", "name")
		return left, left == ""
	})
	for _, kind := range []string{"server", "network", "router", "loadbalancer", "security group", "port"} {
		if left := r.ours(kind); len(left) != 0 {
			r.t.Errorf("left %s of %s: %q", strconv.Itoa(len(left)), kind, left)
		}
	}
}
