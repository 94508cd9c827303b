package orphan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/ownership"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/openstack"
	"github.com/slipway-sh/slipway/stacks/workload"
)

// inOneRegion are clients of a cloud that has no other region; nothing is asked of them.
type inOneRegion struct{ openstack.Clients }

func (inOneRegion) Region() string { return "RegionOne" }

func (inOneRegion) OtherRegions() bool { return false }

const joined = "team-my-shop"

// left is what the cluster my-shop of namespace team left at least: its credential and a network.
func left() lists {
	step := workload.Step(types.NamespacedName{Namespace: "team", Name: "my-shop"})
	mark := ownership.New("prod", step)
	return lists{credentials: []applicationcredentials.ApplicationCredential{{ID: "c", Name: mark.Name() + "-1", Description: mark.Description(), ProjectID: "p"}},
		networks: []networks.Network{{ID: "n", Name: madeName + joined, Description: madeBy + joined}}, routers: []routers.Router{{ID: "r", Name: madeName + joined, Description: madeBy + joined}}}
}

func judged(change func(*lists), alive Alive) map[string]Orphan {
	l := left()
	if change != nil {
		change(&l)
	}
	s := Survey{Inventory: openstack.Inventory{Clients: inOneRegion{}}, Project: "p", Environment: "prod"}
	found := map[string]Orphan{}
	for _, o := range s.judge(l, alive, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) {
		found[o.ID] = o
	}
	return found
}

// TestWhoseAnAddressWas: on the cluster's router, or of a load balancer that was the cluster's for sure,
// or with CAPO's words; else only the name shows it.
func TestWhoseAnAddressWas(t *testing.T) {
	t.Parallel()
	const service = "Floating IP for Kubernetes external service default/web from cluster my-shop"
	vip := func(l *lists) {
		l.balancers = []loadbalancers.LoadBalancer{{ID: "b", Name: madeName + joined + apiSuffix, Description: madeBy + joined, VipPortID: "vip"}, {ID: "s", Name: "kube_service_my-shop_default_web", VipNetworkID: "n", VipPortID: "svip"},
			{ID: "o", Name: "kube_service_my-shop_default_other", VipNetworkID: "elsewhere", VipPortID: "ovip"}}
	}
	for name, test := range map[string]struct {
		address floatingips.FloatingIP
		found   bool
		byName  bool
	}{
		"CAPO's":                            {floatingips.FloatingIP{Description: madeBy + joined}, true, false},
		"CAPO's, of another":                {floatingips.FloatingIP{Description: madeBy + "other-my-shop", RouterID: "r"}, false, false},
		"a Service's":                       {floatingips.FloatingIP{Description: service}, true, true},
		"a Service's, on the router":        {floatingips.FloatingIP{Description: service, RouterID: "r"}, true, false},
		"a Service's, on another router":    {floatingips.FloatingIP{Description: service, RouterID: "x"}, true, true},
		"a Service's, of the API's address": {floatingips.FloatingIP{Description: service, PortID: "vip"}, true, false},
		"a Service's, of its balancer":      {floatingips.FloatingIP{Description: service, PortID: "svip"}, true, false},
		"a Service's, of one elsewhere":     {floatingips.FloatingIP{Description: service, PortID: "ovip"}, true, true},
		"of nobody, on the router":          {floatingips.FloatingIP{Description: "mine", RouterID: "r"}, false, false},
	} {
		test.address.ID = "f"
		o, found := judged(func(l *lists) { vip(l); l.addresses = []floatingips.FloatingIP{test.address} }, Alive{})["f"]
		if found != test.found || o.ByName != test.byName || found && (o.Cluster != "team/my-shop" || o.Proof == "" || o.Kept != "") {
			t.Errorf("%s: found %t, %+v", name, found, o)
		}
	}
}

// TestWhoseAGroupWas: a port on the cluster's network must have it, or nothing but the name shows it.
func TestWhoseAGroupWas(t *testing.T) {
	t.Parallel()
	group := groups.SecGroup{ID: "g", Name: "lb-sg", Description: "Security Group for default/web Service LoadBalancer in cluster my-shop"}
	for name, test := range map[string]struct {
		port   ports.Port
		byName bool
	}{
		"on the network": {ports.Port{NetworkID: "n", SecurityGroups: []string{"x", "g"}}, false}, "on another": {ports.Port{NetworkID: "x", SecurityGroups: []string{"g"}}, true}, "with another group": {ports.Port{NetworkID: "n", SecurityGroups: []string{"x"}}, true},
	} {
		test.port.ID = "port"
		found := judged(func(l *lists) { l.groups, l.ports = []groups.SecGroup{group}, []ports.Port{test.port} }, Alive{})
		if o, ok := found["g"]; !ok || o.ByName != test.byName {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// TestWhatCAPOMadeHasItsWords in name and description, and subnets are on its network.
func TestWhatCAPOMadeHasItsWords(t *testing.T) {
	t.Parallel()
	found := judged(func(l *lists) {
		l.routers = append(l.routers, routers.Router{ID: "r2", Name: madeName + joined}, routers.Router{ID: "r3", Name: madeName + "-my-shop", Description: madeBy + "-my-shop"})
		l.subnets = []subnets.Subnet{{ID: "s", NetworkID: "n", Name: madeName + joined, Description: madeBy + joined}, {ID: "s2", NetworkID: "x", Name: madeName + joined, Description: madeBy + joined}, {ID: "s3", NetworkID: "n", Name: "mine"}}
		l.ports = []ports.Port{{ID: "p", NetworkID: "n", Description: madeBy + joined}, {ID: "p2", NetworkID: "n", DeviceID: "d", Description: madeBy + joined}, {ID: "p3", NetworkID: "n", DeviceOwner: "network:dhcp"}, {ID: "p4", NetworkID: "n"}, {ID: "p5", NetworkID: "x"}}
		l.volumes = []volumes.Volume{{ID: "v", Metadata: map[string]string{"cinder.csi.openstack.org/cluster": "my-shop"}}, {ID: "v2", Metadata: map[string]string{"cinder.csi.openstack.org/cluster": "my-shop"}, Attachments: []volumes.Attachment{{ServerID: "d"}}}, {ID: "v3"}}
	}, Alive{})
	for id, kept := range map[string]string{"n": "", "r": "", "s": "", "p": "", "p4": "CAPO did not make it", "v": "", "v2": "attached to server d", "c": "the proof for the other 7"} {
		if o, ok := found[id]; !ok || (o.Kept == "") != (kept == "") || !strings.Contains(o.Kept, kept) {
			t.Errorf("%s: %t, %q, want %q", id, ok, o.Kept, kept)
		}
	}
	if len(found) != 8 {
		t.Errorf("%d are found: %v", len(found), found)
	}
	alone := judged(func(l *lists) { l.networks, l.routers = nil, nil }, Alive{})
	if o := alone["c"]; len(alone) != 1 || o.Kept != "" || o.Cluster != "my-shop" {
		t.Errorf("a credential that nothing is left of: %+v", alone)
	}
}

// TestCredentialsThatProveNothing: of other projects and environments, of living clusters, and of other
// names than Slipway gives.
func TestCredentialsThatProveNothing(t *testing.T) {
	t.Parallel()
	key := types.NamespacedName{Namespace: "team", Name: "my-shop"}
	for name, test := range map[string]struct {
		change func(*applicationcredentials.ApplicationCredential)
		alive  Alive
		want   bool
	}{
		"of a cluster that is gone": {func(*applicationcredentials.ApplicationCredential) {}, Alive{}, true},
		"of no project":             {func(c *applicationcredentials.ApplicationCredential) { c.ProjectID = "" }, Alive{}, true},
		"of another project":        {func(c *applicationcredentials.ApplicationCredential) { c.ProjectID = "q" }, Alive{}, false},
		"of a living cluster":       {func(*applicationcredentials.ApplicationCredential) {}, Alive{Clusters: []types.NamespacedName{key}}, false},
		"of another's hand":         {func(c *applicationcredentials.ApplicationCredential) { c.Name = "mine" }, Alive{}, false},
		"without a tag":             {func(c *applicationcredentials.ApplicationCredential) { c.Description = "" }, Alive{}, false},
		"of another environment": {func(c *applicationcredentials.ApplicationCredential) {
			mark := ownership.New("test", workload.Step(key))
			c.Name, c.Description = mark.Name()+"-1", mark.Description()
		}, Alive{}, false},
		"of no cluster": {func(c *applicationcredentials.ApplicationCredential) {
			mark := ownership.New("prod", "credential")
			c.Name, c.Description = mark.Name()+"-1", mark.Description()
		}, Alive{}, false},
	} {
		found := judged(func(l *lists) { test.change(&l.credentials[0]) }, test.alive)
		if _, got := found["n"]; got != test.want || (len(found) > 0) != test.want {
			t.Errorf("%s: %v", name, found)
		}
	}
	anywhere := Survey{Inventory: openstack.Inventory{Clients: inOneRegion{}}, Environment: "prod"}
	if list := anywhere.gone(left().credentials, Alive{}); len(list) != 1 {
		t.Errorf("in a project that is not known: %d", len(list))
	}
	for step, want := range map[string][2]string{ownership.ClusterPrefix + "a-b-12345678": {"a-b", "12345678"}, ownership.ClusterPrefix + "a-1234567": {}, ownership.ClusterPrefix + "a-123456789": {}, ownership.ClusterPrefix + "-12345678": {}, ownership.ClusterPrefix + "12345678": {}, "a-12345678": {}} {
		if name, hash := nameIn(step); [2]string{name, hash} != want {
			t.Errorf("%s: %q of %q", step, hash, name)
		}
	}
}

// TestPortsOfMachinesThatAreGone: an hour old, of no server, and of no Machine that there is.
func TestPortsOfMachinesThatAreGone(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	cluster := ownership.New("prod", stacks.StepManagementCluster)
	alive := Alive{Machines: []string{"prod-md-0-a"}}
	for name, test := range map[string]struct {
		port ports.Port
		want bool
	}{
		"old":              {ports.Port{Name: "prod-md-0-b-0", CreatedAt: now.Add(-time.Hour)}, true},
		"young":            {ports.Port{Name: "prod-md-0-b-0", CreatedAt: now.Add(-time.Hour + 1)}, false},
		"of a server":      {ports.Port{Name: "prod-md-0-b-0", DeviceID: "d"}, false},
		"of a service":     {ports.Port{Name: "prod-md-0-b-0", DeviceOwner: "network:dhcp"}, false},
		"of a Machine":     {ports.Port{Name: "prod-md-0-a-0"}, false},
		"of its name":      {ports.Port{Name: "prod-md-0-a"}, false},
		"of a longer name": {ports.Port{Name: "prod-md-0-ab-0"}, true},
	} {
		for of, mark := range map[string]ownership.Owner{"ours": cluster, "another environment's": ownership.New("test", stacks.StepManagementCluster), "the seed's": ownership.New("prod", "seed"), "nobody's": {}} {
			test.port.ID, test.port.Tags = "p", mark.Tags()
			if mark == (ownership.Owner{}) {
				test.port.Tags = nil
			}
			found := Survey{Environment: "prod"}.loosePorts(lists{ports: []ports.Port{test.port}}, alive, now)
			if got := len(found) == 1; got != (test.want && of == "ours") || got && (found[0].Cluster != "prod" || found[0].Kept != "") {
				t.Errorf("%s, %s: %+v", name, of, found)
			}
		}
	}
}

// TestOrphansByTheirClustersNames, with the namespace or without.
func TestOrphansByTheirClustersNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"team/my-shop": true, "my-shop": true, "team": false, "": false, "shop": false} {
		if got := (Orphan{Cluster: "team/my-shop"}).Named(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
	if !(Orphan{Cluster: "prod"}).Named("prod") || (Orphan{Cluster: "prod"}).Named("") {
		t.Error("one of the environment itself")
	}
	sure, kept, byName := Orphan{Cluster: "a/b"}, Orphan{Cluster: "a/b", Kept: "why"}, Orphan{Cluster: "a/b", ByName: true}
	for names, want := range map[string]int{"": 1, "b": 2, "c": 1} {
		if got := Chosen([]Orphan{sure, kept, byName}, strings.Fields(names)); len(got) != want || slices.Contains(got, kept) {
			t.Errorf("%q: %+v", names, got)
		}
	}
}
