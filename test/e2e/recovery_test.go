package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
)

// TestRecovery loses everything but tenants' clusters: all servers, volumes and load
// balancers of the seed and of the management cluster, the state and the keys. It
// rebuilds them from a backup in Swift by one command, and no node and no pod of the
// tenant may have been started again.
func TestRecovery(t *testing.T) {
	if os.Getenv("SLIPWAY_PROOFS") == "" {
		t.Skip("SLIPWAY_PROOFS is not set")
	}
	if !isolate(t) {
		return
	}
	p := newProject(t)
	identity := p.backedUp()
	defer p.tell()
	p.timed("up", func() { p.up() })
	p.openstack("--os-cloud", "sandbox-admin", "quota", "set", "--cores", "40", "--instances", "20", "--ram", "102400", "demo")
	p.timed("a tenant's cluster", func() {
		p.do("cluster", "create", "shop", "--wait", "ready", "--set", "controlPlane.machineCount=1", "--set", "nodeGroups[0].name=md-0,nodeGroups[0].machineCount=1")
	})
	kubeconfig := p.keep(filepath.Join("clusters", "shop.kubeconfig"))
	before := p.tenant(kubeconfig)
	servers := p.of("shop-")
	if len(servers) != 2 || len(before) < 5 {
		t.Fatalf("servers of the tenant: %v; nodes and pods: %v", servers, before)
	}
	p.timed("backup", func() { p.do("backup", "create") })

	p.lose()
	if after := p.tenant(kubeconfig); !slices.Equal(before, after) {
		t.Errorf("without a management cluster the tenant's cluster was\n%v, is\n%v", before, after)
	}
	var result struct {
		Checks     []struct{ ID, State string }
		Waves      []struct{ Clusters []string }
		RTOSeconds float64 `json:"rtoSeconds"`
		RPOSeconds float64 `json:"rpoSeconds"`
		Parts      []struct {
			Name    string
			Seconds float64
		}
	}
	if err := json.Unmarshal([]byte(p.do("recover", "--yes", "--identity", identity, "-o", "json")), &result); err != nil {
		t.Fatal(err)
	}
	t.Logf("RTO %.0f s, RPO %.0f s, parts %+v", result.RTOSeconds, result.RPOSeconds, result.Parts)
	if len(result.Checks) < 10 || len(result.Waves) != 1 || !slices.Equal(result.Waves[0].Clusters, []string{"shop/shop"}) {
		t.Errorf("result %+v", result)
	}
	for _, c := range result.Checks {
		if c.State == "failed" {
			t.Errorf("check %s failed", c.ID)
		}
	}
	if after := p.of("shop-"); !slices.Equal(servers, after) {
		t.Errorf("the tenant's servers were %v, are %v", servers, after)
	}
	if after := p.tenant(kubeconfig); !slices.Equal(before, after) {
		t.Errorf("the tenant's nodes and pods were\n%v, are\n%v", before, after)
	}
	// The new management cluster is at work: it scales the tenant's cluster.
	if out, err := p.on("", "-n", "shop", "scale", "machinedeployments.cluster.x-k8s.io", "shop-md-0", "--replicas=2"); err != nil {
		t.Fatalf("scaling: %v\n%s", err, out)
	}
	p.eventually("one server more", 5*time.Minute, func() (string, bool) {
		now := p.of("shop-")
		return strings.Join(now, " "), len(now) == 3 && slices.Contains(now, servers[0]) && slices.Contains(now, servers[1])
	})
	p.timed("down", func() { p.do("down", "--delete-clusters", "--yes") })
}

// backedUp adds a management cluster and a place for backups to the environment
// file, and returns the file of the private key.
func (p *project) backedUp() string {
	p.t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		p.t.Fatal(err)
	}
	path := filepath.Join(p.t.TempDir(), "key.txt")
	if err := os.WriteFile(path, []byte(key.String()+"\n"), 0o600); err != nil {
		p.t.Fatal(err)
	}
	p.append(managementCluster)
	p.append("  backup: {target: swift://backups/demo, recipients: [" + key.Recipient().String() + "]}\n")
	return path
}

// keep copies a kubeconfig out of the folder that is lost, and returns its path as by
// wants it.
func (p *project) keep(name string) string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.folder, ".slipway", name))
	if err != nil {
		p.t.Fatal(err)
	}
	path := filepath.Join(p.t.TempDir(), "kept.kubeconfig")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		p.t.Fatal(err)
	}
	relative, err := filepath.Rel(filepath.Join(p.folder, ".slipway"), path)
	if err != nil {
		p.t.Fatal(err)
	}
	return relative
}

// tenant is when the nodes and the pods of the tenant's cluster began, with how often
// their containers were started again.
func (p *project) tenant(kubeconfig string) []string {
	p.t.Helper()
	var all []string
	for _, question := range [][]string{
		{"get", "nodes", "-o", `jsonpath={range .items[*]}{.metadata.name} {.metadata.uid} {.status.nodeInfo.bootID}{"\n"}{end}`},
		{"get", "pods", "-A", "-o", `jsonpath={range .items[*]}{.metadata.name} {.metadata.uid} {.status.startTime} {.status.containerStatuses[*].restartCount}{"\n"}{end}`},
	} {
		out, err := p.by(kubeconfig, "", question...)
		if err != nil {
			p.t.Fatalf("asking the tenant's cluster: %v\n%s", err, out)
		}
		all = append(all, strings.Split(out, "\n")...)
	}
	slices.Sort(all)
	return all
}

// of are the tenant's servers: name and id.
func (p *project) of(prefix string) (list []string) {
	p.t.Helper()
	for name, id := range p.servers() {
		if strings.HasPrefix(name, prefix) {
			list = append(list, name+" "+id)
		}
	}
	slices.Sort(list)
	return list
}

// lose deletes the seed and the management cluster through the API, and the folder
// with state and keys.
func (p *project) lose() {
	p.t.Helper()
	for name, id := range p.servers() {
		if strings.HasPrefix(name, "demo-") {
			p.openstack("server", "delete", "--wait", id)
		}
	}
	for line := range strings.Lines(p.openstack("loadbalancer", "list", "-f", "value", "-c", "id", "-c", "name")) {
		if id, name, _ := strings.Cut(strings.TrimSpace(line), " "); strings.Contains(name, "-demo-kubeapi") || strings.Contains(name, "slipway-magnum") {
			p.openstack("loadbalancer", "delete", "--cascade", "--wait", id)
		}
	}
	for line := range strings.Lines(p.openstack("volume", "list", "-f", "value", "-c", "ID", "-c", "Name")) {
		if id, name, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(name, "demo-") {
			p.openstack("volume", "delete", id)
		}
	}
	if err := os.RemoveAll(filepath.Join(p.folder, ".slipway")); err != nil {
		p.t.Fatal(err)
	}
}
