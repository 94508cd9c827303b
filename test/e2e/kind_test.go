package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/localseed/localseedtest"
)

// TestKind is an environment whose seed is a container of Podman: killed while the seed is
// made and while objects move, complete, with a worker lost afterwards, then everything but
// a workload cluster, and deleted from a machine that has no container of it.
func TestKind(t *testing.T) {
	if os.Getenv("SLIPWAY_PROOFS") == "" {
		t.Skip("set SLIPWAY_PROOFS=1: run make kind-test")
	}
	bundleDir(t)
	if !isolate(t) {
		return
	}
	for _, variable := range localseedtest.Enter(t, filepath.Join(bundleDir(t), "bin", "runc")) {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	p := newProject(t)
	t.Cleanup(p.tellKind)
	p.append("  seed: {provider: kind}\n" + strings.Split(managementCluster, "  magnum:")[0])
	identity := p.backedUp()
	p.timed("killed while the seed is made", func() { p.killAt(inStep("local-seed"), "up", "--yes") })
	p.timed("killed while objects move", func() { p.killAt(inStep("management-move"), "up", "--yes") })
	p.timed("up", func() { p.up() })
	p.expectNoContainers()
	if again := p.up(); len(again.Report.Changes) != 0 {
		t.Errorf("a second run changed %v", again.Report.Changes)
	}
	p.expectSelfManaged()
	p.timed("a worker is lost", p.loseWorker)
	p.loseAllButTheShop(identity)
	p.expectSelfManaged()
	p.timed("down", func() {
		if out := p.do("down", "--yes"); !strings.Contains(out, "0 left") {
			t.Errorf("down said:\n%s", out)
		}
	})
	p.expectNoContainers()
}

// loseAllButTheShop loses the management cluster and the state, and rebuilds both from a
// backup on this machine: the seed is made again, and gone in the end. The machines of the
// workload cluster do not notice, and it can be deleted afterwards.
func (p *project) loseAllButTheShop(identity string) {
	p.t.Helper()
	p.enlargeQuota()
	p.operatorsCluster("shop")
	kubeconfig := p.keep(filepath.Join("clusters", "shop.kubeconfig"))
	before, servers := p.tenant(kubeconfig), p.of("shop-")
	p.timed("backup", func() { p.do("backup", "create") })
	p.lose()
	p.timed("rebuild", func() { p.rebuild(identity) })
	if after := p.of("shop-"); len(servers) != 2 || !slices.Equal(servers, after) {
		p.t.Errorf("the workload cluster's servers were %v, are %v", servers, after)
	}
	if after := p.tenant(kubeconfig); !slices.Equal(before, after) {
		p.t.Errorf("its nodes and pods were\n%v, are\n%v", before, after)
	}
	p.expectNoContainers()
	if tags := p.openstack("security", "group", "show", "demo-seed-access", "-f", "value", "-c", "tags"); !strings.Contains(tags, "slipway:generation=1") {
		p.t.Errorf("the fence says %s", tags)
	}
	if said := p.do("recover", "--dry-run"); !strings.Contains(said, "repair: nothing") {
		p.t.Errorf("after the rebuild, recover says\n%s", said)
	}
	p.do("cluster", "delete", "shop", "--yes")
}

// expectSelfManaged looks at the objects and at what status, plan and why say.
func (p *project) expectSelfManaged() {
	p.t.Helper()
	out, err := p.on("", "get", "clusters.cluster.x-k8s.io", "-A", "-o", "jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name} {end}")
	if err != nil || out != "default/demo" {
		p.t.Errorf("the management cluster has the clusters %q: %v", out, err)
	}
	for name := range p.servers() {
		if name == "demo-seed" {
			p.t.Error("there is a seed server")
		}
	}
	if said := p.do("status"); !strings.Contains(said, "no seed: the management cluster manages itself") || strings.Contains(said, "incomplete") {
		p.t.Errorf("status said:\n%s", said)
	}
	if out, err := p.command("why").CombinedOutput(); err != nil {
		p.t.Errorf("why: %v\n%s", err, out)
	}
	if out, err := p.command("ssh", "--", "true").CombinedOutput(); err == nil || !strings.Contains(string(out), "no seed") {
		p.t.Errorf("ssh: %v\n%s", err, out)
	}
}

// loseWorker deletes a worker's server; the cluster makes another one by itself.
func (p *project) loseWorker() {
	p.t.Helper()
	worker := func() (name, id string) {
		for name, id := range p.servers() {
			if strings.HasPrefix(name, "demo-md-0-") {
				return name, id
			}
		}
		return "", ""
	}
	lost, id := worker()
	p.openstack("server", "delete", "--wait", id)
	p.eventually("another worker", 8*time.Minute, func() (string, bool) {
		name, _ := worker()
		return name, name != "" && name != lost
	})
	p.ready(4, 8*time.Minute)
}

// expectNoContainers looks for what local seeds leave on a machine.
func (p *project) expectNoContainers() {
	p.t.Helper()
	for _, args := range [][]string{{"ps", "--all", "--quiet"}, {"volume", "ls", "--quiet"}} {
		out, err := exec.Command("podman", args...).CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != "" {
			p.t.Errorf("podman %v: %v\n%s", args, err, out)
		}
	}
}

// tellKind tells, when the test failed, what runs on the seed and what the commands said.
func (p *project) tellKind() {
	if !p.t.Failed() {
		return
	}
	said := p.said.String()
	p.t.Logf("commands said:\n%s", said[max(0, len(said)-6000):])
	names, _ := exec.Command("podman", "ps", "--all", "--format", "{{.Names}}").Output()
	fields := strings.Fields(string(names))
	slices.Sort(fields)
	for _, name := range fields {
		for _, args := range [][]string{{"kubectl", "get", "pods,clusters,machines", "-A"}, {"kubectl", "get", "events", "-A", "--sort-by=.lastTimestamp"}, {"journalctl", "--no-pager", "--lines", "40", "-u", "kubelet"}} {
			out, err := exec.Command("podman", append([]string{"exec", name}, args...)...).CombinedOutput()
			p.t.Log(fmt.Sprintf("%s %v: %v\n%s", name, args, err, out[max(0, len(out)-4000):]))
		}
	}
}
