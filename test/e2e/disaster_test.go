package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// recovered is what recover prints as data.
type recovered struct {
	Diagnosis struct {
		Repair      string
		Found, Will []string
	}
	Checks []struct {
		ID, State string
		Findings  []struct{ Object, Cause string }
	}
	RTOSeconds float64 `json:"rtoSeconds"`
	Parts      []struct {
		Name    string
		Seconds float64
	}
}

// TestDisasters loses a part of an environment after the other, and brings each back by
// the same command: a tenant's objects, two of three control planes with the quorum of
// etcd, the seed with its data volume, and one control plane. No server that was not lost
// is replaced.
func TestDisasters(t *testing.T) {
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
	p.operatorsCluster("shop")
	kubeconfig := p.keep(filepath.Join("clusters", "shop.kubeconfig"))
	servers, tenant := p.of("shop-"), p.tenant(kubeconfig)
	p.timed("backup", p.wholeBackup)
	same := func(after string) {
		t.Helper()
		if now := p.of("shop-"); !slices.Equal(servers, now) {
			t.Errorf("after %s the tenant's servers were %v, are %v", after, servers, now)
		}
		if now := p.tenant(kubeconfig); !slices.Equal(tenant, now) {
			t.Errorf("after %s the tenant's nodes and pods were\n%v, are\n%v", after, tenant, now)
		}
	}
	if r := p.recover("nothing"); len(r.Parts) > 0 {
		t.Errorf("it did %+v", r.Parts)
	}
	p.timed("a cluster deleted by mistake", func() { p.loseObjects(identity); same("the restore of one cluster") })
	p.timed("two of three control planes", func() { p.loseQuorum(); same("the loss of the quorum") })
	p.timed("backup", p.wholeBackup)
	p.timed("the seed with its volume", func() { p.loseSeed(identity); same("the loss of the seed") })
	p.timed("one control plane", func() {
		p.underLoad("the loss of a control plane", p.loseOne)
		same("the loss of a control plane")
	})
	p.timed("down", func() { p.goDown("--delete-clusters") })
}

// recover runs the command, which must choose a repair, and tells what it found.
func (p *project) recover(want string, args ...string) recovered {
	p.t.Helper()
	var r recovered
	if err := json.Unmarshal([]byte(p.do(append([]string{"recover", "--yes", "--progress", "plain", "-o", "json"}, args...)...)), &r); err != nil {
		p.t.Fatal(err)
	}
	p.t.Logf("repair %q, RTO %.0f s, parts %+v\nfound: %s\nwill: %s", r.Diagnosis.Repair, r.RTOSeconds, r.Parts, strings.Join(r.Diagnosis.Found, "; "), strings.Join(r.Diagnosis.Will, "; "))
	if r.Diagnosis.Repair != want {
		p.t.Fatalf("it chose %q, not %q", r.Diagnosis.Repair, want)
	}
	for _, c := range r.Checks {
		if c.State == "failed" {
			p.t.Errorf("check %s failed: %+v", c.ID, c.Findings)
		}
	}
	return r
}

// wholeBackup makes one with an etcd snapshot and the seed's datastore.
func (p *project) wholeBackup() {
	p.t.Helper()
	said := p.said.Len()
	var b struct{ Etcd, Datastore int64 }
	if err := json.Unmarshal([]byte(p.do("backup", "create", "--progress", "plain", "-o", "json")), &b); err != nil {
		p.t.Fatal(err)
	}
	p.t.Logf("etcd %d bytes, datastore %d bytes", b.Etcd, b.Datastore)
	if b.Etcd < 1<<20 || b.Datastore < 1<<20 {
		p.t.Fatalf("the backup has %d bytes of etcd and %d of the datastore; said\n%s", b.Etcd, b.Datastore, p.said.String()[said:])
	}
}

// loseObjects deletes the namespace of the tenant with all that is in it, and no server, as
// somebody does who removes finalizers to get rid of a namespace that hangs.
func (p *project) loseObjects(identity string) {
	p.t.Helper()
	kubectl := func(args ...string) string {
		p.t.Helper()
		out, err := p.on("", args...)
		if err != nil {
			p.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return out
	}
	// Those that know no pause must not see it, or they delete what is in the cloud.
	without := []string{"capi-addon-system", "capi-janitor-system", "orc-system"}
	for _, namespace := range without {
		kubectl("-n", namespace, "scale", "deployment", "--all", "--replicas=0")
	}
	p.eventually("no controller without a pause", 2*time.Minute, func() (string, bool) {
		all := ""
		for _, namespace := range without {
			out, err := p.on("", "-n", namespace, "get", "pods", "-o", "name")
			if err != nil {
				return out, false
			}
			all += out
		}
		return all, all == ""
	})
	kubectl("-n", "shop", "patch", "clusters.cluster.x-k8s.io", "shop", "--type", "merge", "-p", `{"spec":{"paused":true}}`)
	time.Sleep(5 * time.Second) // a reconcile that had begun
	// As long as the Cluster is there, its pause holds for what stands for servers.
	for _, kind := range []string{"openstackservers.infrastructure.cluster.x-k8s.io", "openstackmachines.infrastructure.cluster.x-k8s.io", "openstackclusters.infrastructure.cluster.x-k8s.io"} {
		for name := range strings.FieldsSeq(kubectl("-n", "shop", "get", kind, "-o", "name")) {
			kubectl("-n", "shop", "patch", name, "--type", "merge", "-p", `{"metadata":{"finalizers":null}}`)
			kubectl("-n", "shop", "delete", name, "--wait=false")
		}
	}
	kubectl("delete", "namespace", "shop", "--wait=false")
	var kinds []string
	for _, kind := range strings.Fields(kubectl("api-resources", "--namespaced", "--verbs=delete", "-o", "name")) {
		if strings.Contains(kind, ".x-k8s.io") || strings.Contains(kind, "stackhpc.com") || strings.Contains(kind, "k-orc.cloud") {
			kinds = append(kinds, kind)
		}
	}
	p.eventually("namespace gone", 4*time.Minute, func() (string, bool) {
		out, err := p.on("", "get", "namespace", "shop", "-o", "jsonpath={.status}")
		if err != nil {
			return out, strings.Contains(out, "not found")
		}
		left, _ := p.on("", "-n", "shop", "get", strings.Join(kinds, ","), "-o", "name", "--ignore-not-found")
		for object := range strings.FieldsSeq(left) {
			if strings.HasPrefix(object, "cluster.cluster.x-k8s.io/") && strings.Count(left, "/") > 1 {
				continue // it is last
			}
			_, _ = p.on("", "-n", "shop", "patch", object, "--type", "merge", "-p", `{"metadata":{"finalizers":null}}`)
		}
		return left + "\n" + out, false
	})
	for _, namespace := range without {
		kubectl("-n", namespace, "scale", "deployment", "--all", "--replicas=1")
	}
	if r := p.recover("nothing", "--identity", identity); len(r.Parts) > 0 {
		p.t.Errorf("the diagnosis did %+v", r.Parts)
	}
	r := p.recover("", "--identity", identity, "--cluster", "shop")
	if len(r.Checks) < 10 {
		p.t.Errorf("%d checks", len(r.Checks))
	}
	if out := kubectl("-n", "shop", "get", "clusters.cluster.x-k8s.io", "shop", "-o", "jsonpath={.spec.paused}"); out == "true" {
		p.t.Error("the cluster is paused")
	}
}

// controlPlanes are the nodes of the management cluster's control plane.
func (p *project) controlPlanes() []string {
	p.t.Helper()
	out, err := p.on("", "get", "nodes", "-l", "node-role.kubernetes.io/control-plane", "-o", "jsonpath={.items[*].metadata.name}")
	if err != nil {
		p.t.Fatalf("listing nodes: %v\n%s", err, out)
	}
	names := strings.Fields(out)
	slices.Sort(names)
	if len(names) != 3 {
		p.t.Fatalf("control planes %v", names)
	}
	return names
}

// loseQuorum deletes two of three control plane servers; the third stays, and two join it.
func (p *project) loseQuorum() {
	p.t.Helper()
	names, before := p.controlPlanes(), p.servers()
	if out, err := p.on("", "-n", "default", "create", "configmap", "kept", "--from-literal", "a=b"); err != nil {
		p.t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range names[1:] {
		p.openstack("server", "delete", "--wait", name)
	}
	p.eventually("an API without a quorum", 3*time.Minute, func() (string, bool) {
		out, err := p.on("", "get", "nodes", "--request-timeout=5s")
		return out, err != nil
	})
	p.recover("quorum")
	p.ready(4, 2*time.Minute)
	after := p.servers()
	if after[names[0]] != before[names[0]] {
		p.t.Errorf("the survivor %s was %s, is %q", names[0], before[names[0]], after[names[0]])
	}
	for _, lost := range names[1:] {
		if after[lost] != "" {
			p.t.Errorf("%s is there again", lost)
		}
	}
	if out, err := p.on("", "-n", "default", "get", "configmap", "kept", "-o", "jsonpath={.data.a}"); err != nil || out != "b" {
		p.t.Errorf("what was written last: %v, %s", err, out)
	}
	p.defragment() // looks at three healthy members
}

// loseSeed deletes the seed with its data volume: the new one knows all that the old one
// did, and no machine is replaced.
func (p *project) loseSeed(identity string) {
	p.t.Helper()
	before := p.servers()
	p.openstack("server", "delete", "--wait", "demo-seed")
	p.openstack("volume", "delete", "demo-seed-data")
	p.recover("seed and datastore", "--identity", identity)
	after := p.servers()
	for name, id := range before {
		if same := after[name] == id; same == (name == "demo-seed") {
			p.t.Errorf("server %s was %s, is %q", name, id, after[name])
		}
	}
	if len(after) != len(before) {
		p.t.Errorf("servers were %v, are %v", before, after)
	}
	if out, err := p.by("seed.kubeconfig", "", "get", "clusters.cluster.x-k8s.io", "-A", "-o", "jsonpath={.items[*].metadata.name}"); err != nil || out != "demo" {
		p.t.Errorf("on the new seed: %v, %q", err, out)
	}
	if again := p.up(); len(again.Report.Changes) != 0 {
		p.t.Errorf("up changed %v", again.Report.Changes)
	}
}

// loseOne deletes one control plane server: the new seed's controllers replace it.
func (p *project) loseOne() {
	p.t.Helper()
	lost := p.controlPlanes()[0]
	p.openstack("server", "delete", "--wait", lost)
	p.recover("wait")
	p.ready(4, 2*time.Minute)
	if _, there := p.servers()[lost]; there {
		p.t.Errorf("%s is there", lost)
	}
}

// TestTotalLoss loses everything but the clusters of two tenants: the seed, the management
// cluster and the folder. One command rebuilds them, and tells how long it took (RTO). What
// it unpauses are both clusters, whose servers, nodes and pods are the same.
func TestTotalLoss(t *testing.T) {
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
	names := []string{"lab", "shop"}
	servers, tenants := map[string][]string{}, map[string][]string{}
	kubeconfigs := map[string]string{}
	for _, name := range names {
		p.operatorsCluster(name)
		kubeconfigs[name] = p.keep(filepath.Join("clusters", name+".kubeconfig"))
		servers[name] = p.of(name + "-")
	}
	p.timed("backup", p.wholeBackup)
	for _, name := range names {
		tenants[name] = p.tenant(kubeconfigs[name])
	}
	p.lose()
	var released []string
	p.timed("rebuild", func() {
		for _, w := range p.proved(p.recoverAtOnce(identity)) {
			released = append(released, w.Clusters...)
		}
	})
	slices.Sort(released)
	if !slices.Equal(released, []string{"lab/lab", "shop/shop"}) {
		t.Errorf("it unpaused %q", released)
	}
	for _, name := range names {
		if now := p.of(name + "-"); len(now) != 2 || !slices.Equal(servers[name], now) {
			t.Errorf("the servers of %s were %v, are %v", name, servers[name], now)
		}
		if now := p.tenant(kubeconfigs[name]); !slices.Equal(tenants[name], now) {
			t.Errorf("the nodes and pods of %s were\n%v, are\n%v", name, tenants[name], now)
		}
	}
	p.ready(4, 2*time.Minute)
	p.timed("down", func() { p.goDown("--delete-clusters") })
}
