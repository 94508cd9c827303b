package recover

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/recovery/diagnosis"
	"github.com/slipway-sh/slipway/internal/recovery/recoverytest"
	"github.com/slipway-sh/slipway/stacks/engine"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

const ed25519Key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO42nC81m4BRIf4TTQ9bCAgCHBdKaHZo/h4N81/fQEF8 root@a"

// TestWhatStateAndCloudSay: only tagged servers of the control plane count, and a cluster
// that was never ready is not known.
func TestWhatStateAndCloudSay(t *testing.T) {
	t.Parallel()
	ready := engine.Resource{Name: "management-cluster", Outputs: map[string]any{"adminKubeconfig": "x"}}
	things := []openstack.Resource{{Type: "server", ID: "s", Name: "demo-seed", Step: "seed", State: "SHUTOFF"}, {Type: "volume", ID: "v", Step: "seed-data"},
		{Type: "server", ID: "a", Name: "demo-control-plane-a", Step: "management-cluster", State: "ACTIVE"}, {Type: "server", ID: "w", Name: "demo-md-0-a", Step: "management-cluster"},
		{Type: "server", ID: "t", Name: "shop-control-plane-a", Step: "cluster-shop-0123abcd"}, {Type: "port", ID: "p", Name: "demo-control-plane-a", Step: "management-cluster"}}
	seen := seenIn("demo", []engine.Resource{ready, {Name: "management-move"}}, things)
	if !seen.Known || !seen.Pivoted || !seen.Volume || seen.Seed == nil || seen.Seed.State != "SHUTOFF" || !slices.Equal(seen.ControlPlanes, []diagnosis.Server{{Name: "demo-control-plane-a", ID: "a", State: "ACTIVE"}}) {
		t.Errorf("seen %+v", seen)
	}
	if seen.VolumeID != "v" || len(seen.Workers) != 1 || seen.Workers[0].ID != "w" {
		t.Errorf("seen %+v", seen)
	}
	if seen := seenIn("demo", []engine.Resource{{Name: "management-cluster"}}, nil); seen.Known || seen.Pivoted || seen.Seed != nil || seen.Volume {
		t.Errorf("seen %+v", seen)
	}
	if dead := deadIn([]clusterapi.Machine{{Name: "a", Server: "a"}, {Name: "b", Server: "p"}, {Name: "c"}}, things); !slices.Equal(dead, []string{"b"}) {
		t.Errorf("dead %v", dead)
	}
}

// TestAnOldDatastoreIsRefused if a server of the management cluster came or went.
func TestAnOldDatastoreIsRefused(t *testing.T) {
	t.Parallel()
	backup := snapshot.Inventory{Servers: []snapshot.Resource{{ID: "s", Name: "demo-seed"}, {ID: "a", Name: "demo-control-plane-a"}, {ID: "t", Name: "demo-shop-md-0"}}}
	now := func(ids ...string) (all []openstack.Resource) {
		for _, id := range ids {
			all = append(all, openstack.Resource{Type: "server", ID: id, Name: "demo-" + id, Step: "management-cluster"})
		}
		return all
	}
	if err := moved([]string{"demo-control-plane-", "demo-md-0-"}, backup, now("a")); err != nil {
		t.Errorf("the same servers: %v", err)
	}
	err := moved([]string{"demo-control-plane-", "demo-md-0-"}, backup, now("b"))
	if all := fault.All(err); len(all) != 2 || !strings.Contains(err.Error(), "server demo-b: it was made after") || !strings.Contains(err.Error(), "server demo-control-plane-a: the backup has it (a), and it is gone") || fault.Remedy(all[0]) == "" {
		t.Errorf("others: %v", err)
	}
	backup.Missing = []string{"servers: 503"}
	if err := moved([]string{"demo-control-plane-", "demo-md-0-"}, backup, now("a")); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("a backup without the list: %v", err)
	}
}

// TestTenantsDoNotStopTheRepairOfTheSeed by servers that have the names of the management
// cluster's, in projects of their own, nor by logins that do not work.
func TestTenantsDoNotStopTheRepairOfTheSeed(t *testing.T) {
	t.Parallel()
	names, mine := []string{"demo-control-plane-"}, openstack.Resource{Type: "server", ID: "a", Name: "demo-control-plane-a", Step: "management-cluster"}
	all := snapshot.Inventory{Servers: []snapshot.Resource{{ID: "a", Name: mine.Name, Project: "own"}, {ID: "t", Name: "demo-control-plane-t", Project: "theirs"}},
		Missing: []string{snapshot.MissingOfCluster + "shop/shop: 401"}}
	own, unknown := ofProject(all, "own")
	if err := moved(names, own, []openstack.Resource{mine}); err != nil || !slices.Equal(unknown, all.Missing) {
		t.Errorf("%v, unknown %q", err, unknown)
	}
	for name, test := range map[string]struct {
		change func(*snapshot.Inventory)
		cause  string
	}{
		"a list of its own is missing": {func(i *snapshot.Inventory) { i.Missing = append(slices.Clone(i.Missing), "servers: 503") }, "servers: 503"},
		"a server of its own is gone": {func(i *snapshot.Inventory) {
			i.Servers = []snapshot.Resource{{ID: "x", Name: "demo-control-plane-x", Project: "own"}, i.Servers[0]}
		}, "has it (x)"},
		"one of a project that is lost": {func(i *snapshot.Inventory) {
			i.Servers = []snapshot.Resource{{ID: "y", Name: "demo-control-plane-y"}, i.Servers[0]}
		}, "has it (y)"},
	} {
		changed := all
		test.change(&changed)
		own, _ := ofProject(changed, "own")
		if err := moved(names, own, []openstack.Resource{mine}); err == nil || !strings.Contains(err.Error(), test.cause) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheDiagnosisIsPrinted(t *testing.T) {
	t.Parallel()
	r := result{Diagnosis: diagnosis.Verdict{Repair: diagnosis.Quorum, Found: []string{"the seed answers"}, Will: []string{"stop etcd"}}, Absent: []string{"shop/shop"}}
	before := fmt.Sprint(r.table().Rows, r.table().Footer)
	for _, want := range []string{"the seed answers", "repair: quorum", "would stop etcd", "slipway recover --cluster shop/shop"} {
		if !strings.Contains(before, want) {
			t.Errorf("%q is not in\n%s", want, before)
		}
	}
	var told strings.Builder
	r.summary(&told)
	if said := told.String(); !strings.Contains(said, "1. stop etcd") || strings.Contains(said, "restored") {
		t.Errorf("told\n%s", said)
	}
	r.Parts, r.RTO = []Part{{"etcd", 42}}, (2 * time.Minute).Seconds()
	if after := fmt.Sprint(r.table().Rows, r.table().Footer); !strings.Contains(after, "etcd 42s") || !strings.Contains(after, "RTO 2m") || strings.Contains(after, "would") {
		t.Errorf("afterwards\n%s", after)
	}
}

func TestFlagsOfTheRepair(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		o    options
		want string
	}{
		"no key is needed yet": {options{watch: time.Minute, hostKey: ed25519Key}, ""},
		"host key":             {options{watch: time.Minute, hostKey: "SHA256:abc"}, "--host-key"},
		"two repairs":          {options{watch: time.Minute, cluster: "shop", fromSnapshot: true}, "--cluster"},
	} {
		w, err := test.o.wanted()
		if (err == nil) != (test.want == "") || err != nil && !strings.HasPrefix(err.Error(), test.want) || len(w.Identities) > 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOneClusterWithoutItsServersIsRefused before anything is written.
func TestOneClusterWithoutItsServersIsRefused(t *testing.T) {
	t.Parallel()
	g := recoverytest.New("a", "b")
	plan, err := recovery.NewPlan(g.Snapshot, recovery.Scope{Cluster: "a"})
	if err != nil {
		t.Fatal(err)
	}
	seen := recovery.Cloud{Inventory: g.Snapshot.Cloud, Projects: map[string]string{"a/a": recoverytest.Project}, Unread: map[string]string{}}
	checks := serverChecks(g.Snapshot, plan, seen)
	if err := recovery.Err(checks); err != nil || len(checks) != 2 || checks[0].Checked+checks[1].Checked < 3 {
		t.Errorf("with all servers: %+v, %v", checks, err)
	}
	machine := g.Find("Machine", "a-md-1")
	id, _, _ := unstructured.NestedString(machine.Object, "spec", "providerID")
	seen.Servers = slices.DeleteFunc(slices.Clone(seen.Servers), func(s snapshot.Resource) bool { return s.ID == recovery.ServerID(id) })
	err = recovery.Err(serverChecks(g.Snapshot, plan, seen))
	if all := fault.All(err); len(all) != 1 || !strings.Contains(err.Error(), "Machine a/a-md-1: its server "+recovery.ServerID(id)+" is gone") || fault.Remedy(err) == "" {
		t.Errorf("without one: %v", err)
	}
	seen.Unread["a/a"] = "the credential is gone"
	if err := recovery.Err(serverChecks(g.Snapshot, plan, seen)); err == nil || !strings.Contains(err.Error(), "the credential is gone") {
		t.Errorf("without a login: %v", err)
	}
}
