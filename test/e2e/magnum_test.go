package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// clientPause is between two looks by the client, which takes a second of a core
// from the machines that are waited for.
const clientPause = 4 * time.Second

// coe is `openstack coe …` as a tenant runs it, with the variables that up
// printed.
func (p *project) coe(args ...string) (string, error) {
	cmd := exec.CommandContext(p.t.Context(), "openstack", append([]string{"--os-cloud", "sandbox", "coe"}, args...)...)
	cmd.Env = append(os.Environ(), "OS_CLIENT_CONFIG_FILE="+filepath.Join(p.dir, "clouds.yaml"), "OS_CACERT="+filepath.Join(p.folder, ".slipway", "magnum-ca.pem"), "PYTHONWARNINGS=ignore",
		"SHELL=/bin/sh") // `coe cluster config` reads it unasked, and CI has none
	return answer(cmd)
}

// asked is coe that must succeed.
func (p *project) asked(args ...string) string {
	p.t.Helper()
	out, err := p.coe(args...)
	if err != nil {
		p.t.Fatalf("openstack coe %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// settled waits until the tenant's cluster has a status, and ends the test when
// it has failed instead.
func (p *project) settled(want string, within time.Duration) {
	p.t.Helper()
	p.eventually("cluster "+want, within, func() (string, bool) {
		time.Sleep(clientPause)
		out, err := p.coe("cluster", "show", "shop", "-f", "json", "-c", "status", "-c", "status_reason", "-c", "faults")
		var cluster struct {
			Status string `json:"status"`
			Reason string `json:"status_reason"`
		}
		if err == nil && json.Unmarshal([]byte(out), &cluster) == nil && strings.HasSuffix(cluster.Status, "_FAILED") {
			p.t.Fatalf("the cluster is %s: %s", cluster.Status, cluster.Reason)
		}
		return out, cluster.Status == want
	})
}

// shop runs kubectl on the tenant's cluster.
func (p *project) shop(stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(p.t.Context(), filepath.Join(bundleDir(p.t), "bin", "kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(p.folder, "shop", "config"))
	cmd.Stdin = strings.NewReader(stdin)
	return answer(cmd)
}

// balancers are those of the Services of clusters in this project, by the name
// of the cluster, which the cloud controller manager writes into theirs.
func (p *project) balancers() []string {
	p.t.Helper()
	var clusters []string
	for _, name := range strings.Fields(p.openstack("loadbalancer", "list", "-f", "value", "-c", "name")) {
		cluster, ours := strings.CutSuffix(name, "_kube-system_dns-metrics")
		if cluster, found := strings.CutPrefix(cluster, "kube_service_"); ours && found {
			clusters = append(clusters, cluster)
		}
	}
	slices.Sort(clusters)
	return clusters
}

// balance gives the tenant's cluster a Service like that which others have in the same
// project, or none: each of them gets a load balancer.
func (p *project) balance(others []string) {
	p.t.Helper()
	if out, err := p.shop(metricsService, "apply", "-f", "-"); err != nil {
		p.t.Fatalf("applying: %v\n%s", err, out)
	}
	p.eventually("the tenant's load balancer", 8*time.Minute, func() (string, bool) {
		out, err := p.shop("", "-n", "kube-system", "get", "service", "dns-metrics", "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}")
		return out, err == nil && out != ""
	})
	of := p.balancers()
	if last := len(of) - 1; last < 0 || !slices.Equal(of[:last], others) || !strings.HasPrefix(of[last], "shop-") {
		p.t.Fatalf("load balancers of the clusters %q", of)
	}
	groups := p.openstack("security", "group", "list", "-f", "value", "-c", "Name")
	for _, cluster := range of {
		for _, role := range []string{"controlplane", "worker"} {
			if !strings.Contains(groups, "-"+cluster+"-secgroup-"+role) {
				p.t.Errorf("no security group of %s's %s in\n%s", cluster, role, groups)
			}
		}
	}
}

// shopNodes waits until the tenant's cluster has that many nodes, all Ready.
func (p *project) shopNodes(count int) {
	p.t.Helper()
	p.eventually("the tenant's nodes", 5*time.Minute, func() (string, bool) {
		out, err := p.shop("", "get", "nodes", "--no-headers")
		return out, err == nil && strings.Count(out, " Ready ") == count && len(strings.Split(out, "\n")) == count
	})
}

// serveTenant is the life of a tenant's cluster, by the clients that tenants have: a template
// is there, a cluster without workers is made of it, given a worker and a load balancer,
// lived with, and deleted with its load balancer, not another's. Options are more of those
// that the cluster is created with.
func (p *project) serveTenant(live func(), options ...string) {
	p.t.Helper()
	template := p.asked("cluster", "template", "list", "-f", "value", "-c", "name")
	if !strings.HasPrefix(template, "kubernetes-1.") || strings.Contains(template, "\n") {
		p.t.Fatalf("cluster templates: %q", template)
	}
	before, others, credentials := p.servers(), p.balancers(), p.credentials()
	p.asked(append([]string{"cluster", "create", "shop", "--cluster-template", template, "--master-count", "1", "--node-count", "0"}, options...)...)
	p.timed("creation", func() { p.settled("CREATE_COMPLETE", 15*time.Minute) })
	if err := os.Mkdir(filepath.Join(p.folder, "shop"), 0o700); err != nil {
		p.t.Fatal(err)
	}
	p.asked("cluster", "config", "shop", "--dir", filepath.Join(p.folder, "shop"))
	p.firstWorker()
	p.balance(others)
	p.sendPackets()
	live()

	p.asked("cluster", "delete", "shop")
	p.eventually("deletion of the tenant's cluster", 10*time.Minute, func() (string, bool) {
		time.Sleep(clientPause)
		out, err := p.coe("cluster", "list", "-f", "value", "-c", "name", "-c", "status")
		return out, err == nil && out == ""
	})
	if of := p.balancers(); !slices.Equal(of, others) {
		p.t.Errorf("load balancers after the deletion: of the clusters %q", of)
	}
	if after := p.servers(); len(after) != len(before) {
		p.t.Errorf("servers were %v, are %v", before, after)
	}
	if after := p.credentials(); !slices.Equal(after, credentials) {
		p.t.Errorf("application credentials were %q, are %q", credentials, after)
	}
}

// changeShop gives the tenant's cluster another credential, tells of it in a support bundle,
// makes it larger, gives it another group of nodes and takes that away. Meanwhile down leaves
// everything alone. Something may happen in between.
func (p *project) changeShop(happens func()) {
	p.t.Helper()
	p.timed("another credential", p.rotate)
	p.timed("support bundle", p.expectSupport)
	p.refuseToGo()

	p.asked("cluster", "resize", "shop", "2")
	p.timed("resizing", func() { p.settled("UPDATE_COMPLETE", 10*time.Minute) })
	p.shopNodes(3)
	happens()
	p.asked("nodegroup", "create", "shop", "extra", "--node-count", "1", "--role", "worker")
	p.timed("another node group", func() { p.settled("UPDATE_COMPLETE", 10*time.Minute) })
	p.shopNodes(4)
	p.asked("nodegroup", "update", "shop", "extra", "replace", "max_node_count=3")
	if groups := p.asked("nodegroup", "list", "shop", "-f", "value", "-c", "name"); len(strings.Fields(groups)) != 3 || !strings.Contains(groups, "extra") {
		p.t.Errorf("node groups %q", groups)
	}
	p.asked("nodegroup", "delete", "shop", "extra")
	p.timed("its deletion", func() { p.settled("UPDATE_COMPLETE", 10*time.Minute) })
	p.shopNodes(3)
}

// credentials are what the application credentials of the project are for: a rebuild revokes
// those of the environment and makes others.
func (p *project) credentials() []string {
	p.t.Helper()
	all := strings.Split(p.openstack("application", "credential", "list", "-f", "value", "-c", "Description"), "\n")
	slices.Sort(all)
	return all
}

// firstWorker resizes the tenant's cluster, which is complete without workers and
// says what needs one, to a worker, and sees that it runs then.
func (p *project) firstWorker() {
	p.t.Helper()
	p.shopNodes(1)
	if reason := p.asked("cluster", "show", "shop", "-f", "value", "-c", "status_reason"); !strings.Contains(reason, "metrics-server") {
		p.t.Errorf("complete without workers for the reason %q", reason)
	}
	p.asked("cluster", "resize", "shop", "1")
	p.timed("the first worker", func() { p.settled("UPDATE_COMPLETE", 10*time.Minute) })
	p.shopNodes(2)
	available, err := p.shop("", "-n", "kube-system", "get", "deployment", "metrics-server", "-o", "jsonpath={.status.availableReplicas}")
	if reason := p.asked("cluster", "show", "shop", "-f", "value", "-c", "status_reason"); err != nil || available != "1" || strings.Contains(reason, "metrics-server") {
		p.t.Errorf("metrics-server with a worker: %q available, %v; reason %q", available, err, reason)
	}
}

// refuseToGo says that down leaves everything alone while tenants have clusters.
func (p *project) refuseToGo() {
	p.t.Helper()
	before := p.servers()
	out, err := p.command("down", "--yes").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "/shop-") || !strings.Contains(string(out), "--delete-clusters") {
		p.t.Errorf("down with a tenant's cluster: %v\n%s", err, out)
	}
	if after := p.servers(); len(after) != len(before) {
		p.t.Errorf("it refused and deleted: %v became %v", before, after)
	}
}
