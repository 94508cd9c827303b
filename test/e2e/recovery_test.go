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

// TestRecovery is the life of a tenant's cluster that loses its management cluster on the
// way. The rebuild is killed in each of its steps. Afterwards the tenant's cluster
// is looked after as before, and down leaves nothing of the former or the new one.
//
// proves: F56, S-22
func TestRecovery(t *testing.T) {
	if os.Getenv("SLIPWAY_PROOFS") == "" {
		t.Skip("SLIPWAY_PROOFS is not set")
	}
	if !isolate(t) {
		return
	}
	p := newProject(t)
	p.append(managementCluster)
	identity := p.backedUp()
	defer p.tell()
	p.upForTenants()
	p.timed("life of a tenant's cluster", func() {
		p.serveTenant(func() {
			p.changeShop(func() { p.survive(func() string { return p.recoverKilled(identity) }) })
		})
	})
	p.timed("down", func() { p.goDown() })
}

// upForTenants brings the management cluster up, with quota for clusters of tenants.
func (p *project) upForTenants() {
	p.t.Helper()
	p.timed("up", func() { p.up() })
	p.ready(4, 2*time.Minute)
	p.enlargeQuota()
}

// operatorsCluster is a cluster with a control plane and a worker.
func (p *project) operatorsCluster(name string) {
	p.t.Helper()
	p.timed("a tenant's cluster", func() {
		p.do("cluster", "create", name, "--wait", "ready", "--set", "controlPlane.machineCount=1", "--set", "nodeGroups[0].name=md-0,nodeGroups[0].machineCount=1")
	})
}

// survive loses everything but a tenant's cluster of the Magnum API: all servers, volumes
// and load balancers of the seed and of the management cluster, the state and the keys.
// They are rebuilt from a backup in Swift. No server, node or pod of the
// tenant may have been made or started again, and the Magnum API has to answer as before;
// what the caller does next with the cluster shows that it is looked after again.
func (p *project) survive(rebuild func() string) {
	p.t.Helper()
	kubeconfig := filepath.Join("..", "shop", "config")
	before, servers, answer := p.tenant(kubeconfig), p.of("shop-"), p.answers()
	if len(servers) < 2 || len(before) < 5 || !strings.Contains(answer, "COMPLETE") {
		p.t.Fatalf("the tenant's servers: %v; nodes and pods: %v; cluster: %s", servers, before, answer)
	}
	p.timed("backup", func() { p.do("backup", "create") })

	p.lose()
	if after := p.tenant(kubeconfig); !slices.Equal(before, after) {
		p.t.Errorf("without a management cluster the tenant's cluster was\n%v, is\n%v", before, after)
	}
	p.timed("rebuild", func() { p.proved(rebuild()) })
	if after := p.of("shop-"); !slices.Equal(servers, after) {
		p.t.Errorf("the tenant's servers were %v, are %v", servers, after)
	}
	if after := p.tenant(kubeconfig); !slices.Equal(before, after) {
		p.t.Errorf("the tenant's nodes and pods were\n%v, are\n%v", before, after)
	}
	if after := p.answers(); after != answer {
		p.t.Errorf("the Magnum API said\n%s\nit says\n%s", answer, after)
	}
}

// recoverKilled runs recover until it was killed in each of its steps, and returns what the
// run that was left alone printed. All six parts are among the steps; of the others it may have
// passed some in the moment before it was killed.
func (p *project) recoverKilled(identity string) string {
	p.t.Helper()
	out, steps := p.killInEachStep("recover", "--yes", "--identity", identity, "-o", "json")
	p.t.Logf("killed in %d steps: %q", len(steps), steps)
	for _, part := range []string{"up", "fence", "restore", "prove", "unpause", "complete"} {
		if !slices.Contains(steps, part) {
			p.t.Errorf("recover was not killed in %s", part)
		}
	}
	if len(steps) < 12 {
		p.t.Errorf("recover was killed in %d steps only", len(steps))
	}
	return out
}

// recoverAtOnce is one run of recover, as an operator has it.
func (p *project) recoverAtOnce(identity string) string {
	p.t.Helper()
	before := p.said.Len()
	out := p.do("recover", "--yes", "--identity", identity, "--progress", "plain", "-o", "json")
	for line := range strings.Lines(p.said.String()[before:]) {
		if strings.Contains(line, " ✓ ") {
			p.t.Log(strings.TrimSpace(line))
		}
	}
	return out
}

// rebuild runs recover, and looks at what it says of its proofs.
func (p *project) rebuild(identity string) {
	p.t.Helper()
	waves := p.proved(p.recoverAtOnce(identity))
	if len(waves) != 1 || len(waves[0].Clusters) != 1 {
		p.t.Errorf("waves %+v", waves)
	}
}

// wave is some clusters that were unpaused together.
type wave struct{ Clusters []string }

// proved looks at what recover printed of its proofs, and returns what this run unpaused.
func (p *project) proved(out string) []wave {
	p.t.Helper()
	var result struct {
		Checks     []struct{ ID, State string }
		Waves      []wave
		RTOSeconds float64 `json:"rtoSeconds"`
		RPOSeconds float64 `json:"rpoSeconds"`
		Parts      []struct {
			Name    string
			Seconds float64
		}
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		p.t.Fatal(err)
	}
	p.t.Logf("RTO %.0f s, RPO %.0f s, parts %+v", result.RTOSeconds, result.RPOSeconds, result.Parts)
	if len(result.Checks) < 10 {
		p.t.Errorf("result %+v", result)
	}
	for _, c := range result.Checks {
		if c.State == "failed" {
			p.t.Errorf("check %s failed", c.ID)
		}
	}
	return result.Waves
}

// answers is what the Magnum API says of the tenant's cluster that must outlive its
// management cluster.
func (p *project) answers() string {
	p.t.Helper()
	fields := []string{"-f", "json"}
	for _, f := range []string{"uuid", "status", "api_address", "node_count", "master_count", "labels", "coe_version", "cluster_template_id", "created_at"} {
		fields = append(fields, "-c", f)
	}
	return p.asked(append([]string{"cluster", "show", "shop"}, fields...)...) + "\n" +
		p.asked("nodegroup", "list", "shop", "-f", "json", "-c", "uuid", "-c", "name", "-c", "node_count", "-c", "status")
}

// backedUp adds a place for backups to the environment file, and returns the file of the
// private key.
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
		if id, name, _ := strings.Cut(strings.TrimSpace(line), " "); strings.Contains(name, "-demo-kubeapi") || strings.Contains(name, "slipway-") {
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
