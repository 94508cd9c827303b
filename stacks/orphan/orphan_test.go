package orphan_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/stacks/openstack"
	"github.com/slipway-sh/slipway/stacks/orphan"
)

// TestSweep deletes what a cluster left, and nothing that only looks like it.
//
// proves: S-77
func TestSweep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.lookalikes()
	w.credential("prod", "web", "web")
	w.alive.Clusters = []types.NamespacedName{{Namespace: "web", Name: "web"}}
	webNet, webSub := w.net("web-web", madeBy+"web-web")
	w.balancer("kube_service_web_default_a", "", webSub)
	w.same("before the cluster is gone", w.find())
	before := w.count()

	w.shop()
	found := w.find()
	hash := strings.TrimPrefix(found[len(found)-1].Name, "prod-cluster-my-shop-")
	whole := []string{mostOfShop, "subnet k8s-clusterapi-cluster-team-my-shop", "load balancer k8s-clusterapi-cluster-team-my-shop-kubeapi", "load balancer kube_service_my-shop_default_web",
		"security group k8s-cluster-team-my-shop-secgroup-worker", "load balancer kube_service_my-shop_default_theirs by name", "volume pvc-1 by name", "volume pvc-kept by name stays", shopCredential + hash + " stays"}
	w.same("what is found", found, whole...)
	for _, o := range found {
		if o.Cluster != "team/my-shop" || o.Proof == "" {
			t.Errorf("%s %s: cluster %q, proof %q", o.Type, o.Name, o.Cluster, o.Proof)
		}
	}
	deleted, left, err := w.survey.Remove(t.Context(), orphan.Chosen(found, nil), nil, event.Discard{})
	if err != nil {
		t.Fatal(err)
	}
	w.same("deleted", deleted, mostOfShop, whole[1], whole[2], whole[3], whole[4])
	w.same("left", left, whole[5:]...)
	byName := []string{"team/my-shop"}
	if chosen := orphan.Chosen(left, byName); !slices.ContainsFunc(chosen, func(o orphan.Orphan) bool { return o.Name == "pvc-1" }) {
		t.Errorf("by name: %v", told(chosen))
	}
	pick := slices.DeleteFunc(orphan.Chosen(left, byName), func(o orphan.Orphan) bool { return o.Name != "pvc-1" })
	if _, left, err = w.survey.Remove(t.Context(), pick, byName, event.Discard{}); err != nil || len(left) != 3 {
		t.Errorf("left by name: %v, %v", told(left), err)
	}
	before["volumes"]++ // the one that is kept
	before["credentials"]++
	if after := w.count(); !same(before, after) {
		t.Errorf("of others there were %v, and are %v", before, after)
	}
	if _, err := networks.Get(t.Context(), w.box.Member.Network(t), webNet).Extract(); err != nil {
		t.Errorf("the network of a living cluster: %v", err)
	}
}

func same(a, b map[string]int) bool {
	for k := range a {
		if a[k] != b[k] {
			return false
		}
	}
	return true
}

// TestAClusterWhoseServersRunIsNotGone, whatever its management cluster knows of it.
func TestAClusterWhoseServersRunIsNotGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	network, _ := w.shop()
	must[*ports.Port](t)(ports.Create(t.Context(), w.box.Admin.Network(t), ports.CreateOpts{NetworkID: network, ProjectID: w.survey.Project, TenantID: w.survey.Project, DeviceID: "5f2fd0bc-3a1e-4b8d-9d1c-3d6e6f6cf7a1", DeviceOwner: "compute:nova"}).Extract())
	for _, o := range w.find() {
		if !strings.Contains(o.Kept, "a server is on its network") {
			t.Errorf("%s %s may be deleted: %q", o.Type, o.Name, o.Kept)
		}
	}
}

// TestAClusterOnABroughtNetworkThatRunsIsNotGone: nothing in the cloud is its own but its API's
// load balancer, and CAPO's description of the ports of its machines.
func TestAClusterOnABroughtNetworkThatRunsIsNotGone(t *testing.T) {
	t.Parallel()
	const machine = "my-shop-control-plane-x7k2p"
	for name, test := range map[string]struct {
		description, owner string
		machines           []string
		stays              bool
	}{
		"it runs":             {description: madeBy + "my-shop", owner: "compute:nova", stays: true},
		"an older CAPO":       {description: madeBy + "team-my-shop", owner: "compute:nova", stays: true},
		"a living namesake":   {description: madeBy + "my-shop", owner: "compute:nova", machines: []string{machine}},
		"another one runs":    {description: madeBy + "my-shop-2", owner: "compute:nova"},
		"another's namespace": {description: madeBy + "other-my-shop", owner: "compute:nova"},
		"no server has it":    {description: madeBy + "my-shop"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.credential("prod", "team", "my-shop")
			client := w.box.Member.Network(t)
			brought := must[*networks.Network](t)(networks.Create(t.Context(), client, networks.CreateOpts{Name: "office"}).Extract())
			subnet := must[*subnets.Subnet](t)(subnets.Create(t.Context(), client, subnets.CreateOpts{NetworkID: brought.ID, IPVersion: 4, CIDR: "10.8.0.0/24"}).Extract())
			w.balancer("k8s-clusterapi-cluster-team-my-shop-kubeapi", madeBy+"team-my-shop", subnet.ID)
			device := ""
			if test.owner != "" {
				device = "5f2fd0bc-3a1e-4b8d-9d1c-3d6e6f6cf7a1"
			}
			must[*ports.Port](t)(ports.Create(t.Context(), w.box.Admin.Network(t), ports.CreateOpts{NetworkID: brought.ID, ProjectID: w.survey.Project, TenantID: w.survey.Project,
				Name: machine + "-0", Description: test.description, DeviceID: device, DeviceOwner: test.owner}).Extract())
			w.alive.Machines = test.machines
			found := w.find()
			i := slices.IndexFunc(found, func(o orphan.Orphan) bool { return o.Name == "k8s-clusterapi-cluster-team-my-shop-kubeapi" })
			if i < 0 {
				t.Fatal("the load balancer is not found")
			}
			if o := found[i]; (o.Kept != "") != test.stays || test.stays && !strings.Contains(o.Kept, "5f2fd0bc") {
				t.Errorf("the load balancer: %q", o.Kept)
			}
		})
	}
}

// TestPortsOfMachines that are gone go, and what somebody else made on the network stays.
func TestPortsOfMachines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	network, _ := w.shop()
	for name, description := range map[string]string{"my-shop-md-0-x7k2p-0": madeBy + "my-shop", "older": madeBy + "team-my-shop", "printer": "", "another's": madeBy + "my-shop-2"} {
		must[*ports.Port](t)(ports.Create(t.Context(), w.box.Member.Network(t), ports.CreateOpts{NetworkID: network, Name: name, Description: description}).Extract())
	}
	var found []orphan.Orphan
	for _, o := range w.find() {
		if o.Type == openstack.TypePort {
			found = append(found, o)
		}
	}
	w.same("ports", found, "port my-shop-md-0-x7k2p-0", "port older", "port printer stays", "port another's stays")
}

// TestANameThatTwoClustersHave proves nothing.
func TestANameThatTwoClustersHave(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]func(*world){
		"a living one":          func(w *world) { w.alive.Clusters = []types.NamespacedName{{Namespace: "magnum-1", Name: "my-shop"}} },
		"another environment's": func(w *world) { w.credential("other", "x", "my-shop") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.shop()
			second(w)
			for _, o := range w.find() {
				if o.ByName && o.Kept == "" {
					t.Errorf("%s %s may be deleted", o.Type, o.Name)
				}
				if o.Name == "k8s-clusterapi-cluster-team-my-shop" && o.Kept != "" {
					t.Errorf("the network stays: %s", o.Kept)
				}
			}
		})
	}
}

// TestTheCredentialsOfOneCluster are no two clusters of a name: with spec.credential.separate,
// each has two.
func TestTheCredentialsOfOneCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	w.variant("prod", "team", "my-shop", "cloud-provider")
	found, seen, credentials := w.find(), map[string]bool{}, 0
	for _, o := range found {
		if seen[o.Type+o.ID] || o.ByName && o.Kept != "" && o.Name != "pvc-kept" {
			t.Errorf("%s %s is found twice, or stays: %q", o.Type, o.Name, o.Kept)
		}
		seen[o.Type+o.ID] = true
		if o.Type == openstack.TypeCredential {
			credentials++
		}
	}
	if credentials != 2 {
		t.Errorf("%d credentials", credentials)
	}
	byName := []string{"my-shop"}
	if _, left, err := w.survey.Remove(t.Context(), orphan.Chosen(found, byName), byName, event.Discard{}); err != nil || len(left) != 3 {
		t.Errorf("left: %v, %v", told(left), err) // the volume that is kept, and the proofs for it
	}
}

// TestSweepGoesOnAfterAFailure keeps the credential, which is the proof, until the rest is
// gone; and does nothing when it cannot know what lives.
func TestSweepGoesOnAfterAFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	chosen := orphan.Chosen(w.find(), nil)
	w.fail(faultinject.Rule{Service: "network", Method: "DELETE", Path: "/v2.0/security-groups/*", Status: http.StatusForbidden})
	_, left, err := w.survey.Remove(t.Context(), chosen, nil, event.Discard{})
	if err == nil || !strings.Contains(err.Error(), "k8s-cluster-team-my-shop-secgroup-worker") {
		t.Errorf("the failure is %v", err)
	}
	words := strings.Join(told(left), "\n")
	if !strings.Contains(words, shopCredential) || !strings.Contains(words, "secgroup-worker") || strings.Contains(words, mostOfShop) {
		t.Errorf("left:\n%s", words)
	}
	w.box.Env.Faults.Clear()
	unknown := w.survey
	unknown.Look = func(context.Context) (orphan.Alive, error) {
		return orphan.Alive{}, errors.New("the management cluster does not answer")
	}
	if deleted, _, err := unknown.Remove(t.Context(), chosen, nil, event.Discard{}); err == nil || len(deleted) > 0 {
		t.Errorf("without an answer of what lives: %v, %v", told(deleted), err)
	}
	w.fail(faultinject.Rule{Service: "volumev3", Method: "GET", Path: "/v3/*/volumes/detail", Status: http.StatusForbidden})
	if found, err := w.survey.Find(t.Context()); err == nil {
		t.Errorf("without a list of volumes: %v", told(found))
	}
	w.box.Env.Faults.Clear()
	if _, left, err = w.survey.Remove(t.Context(), orphan.Chosen(w.find(), []string{"my-shop"}), []string{"my-shop"}, event.Discard{}); err != nil || len(left) != 2 {
		t.Errorf("the next time: %v, %v", told(left), err) // the volume that is kept, and the proof for it
	}
}

// TestNothingIsJudgedByHalf: each list that cannot be read ends the search, and tells which.
func TestNothingIsJudgedByHalf(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	for what, at := range map[string][2]string{"networks": {"network", "/v2.0/networks"}, "subnets": {"network", "/v2.0/subnets"}, "routers": {"network", "/v2.0/routers"}, "ports": {"network", "/v2.0/ports"},
		"security groups": {"network", "/v2.0/security-groups"}, "floating IPs": {"network", "/v2.0/floatingips"}, "load balancers": {"load-balancer", "/**/loadbalancers"},
		"application credentials": {"identity", "/**/application_credentials"}} {
		w.fail(faultinject.Rule{Service: at[0], Method: "GET", Path: at[1], Status: http.StatusForbidden})
		if found, err := w.survey.Find(t.Context()); err == nil || len(found) > 0 || !strings.Contains(err.Error(), "listing "+what) {
			t.Errorf("%s: %v, %v", what, told(found), err)
		}
		w.box.Env.Faults.Clear()
	}
}

// TestAClusterOfAnotherRegion that an environment of the same name has there: its credential is
// in the same list, and it says nothing of this region. What names no region decides nothing
// while the cloud has several.
func TestAClusterOfAnotherRegion(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		region string
		others bool
		want   []string
	}{
		"the region of the sweep":     {region: "RegionOne", others: true, want: []string{"network k8s-clusterapi-cluster-team-books", "subnet k8s-clusterapi-cluster-team-books", "credential stays"}},
		"another region":              {region: "RegionTwo", others: true},
		"no region in a cloud of two": {others: true, want: []string{"network k8s-clusterapi-cluster-team-books stays", "subnet k8s-clusterapi-cluster-team-books stays", "credential stays"}},
		"no region in a cloud of one": {want: []string{"network k8s-clusterapi-cluster-team-books", "subnet k8s-clusterapi-cluster-team-books", "credential stays"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			inside := w.survey.Inventory.Clients
			w.survey.Inventory.Clients = placed{inside, test.region, true}
			w.credential("prod", "team", "books")
			w.survey.Inventory.Clients = placed{inside, "RegionOne", test.others}
			w.net("team-books", madeBy+"team-books")
			found := w.find()
			for i := range found {
				if found[i].Type == openstack.TypeCredential {
					found[i].Type, found[i].Name = "credential", ""
				}
			}
			got := told(found)
			for i := range got {
				got[i] = strings.Join(strings.Fields(got[i]), " ")
			}
			if want := slices.Sorted(slices.Values(test.want)); !slices.Equal(got, want) {
				t.Errorf("found %q, want %q", got, want)
			}
		})
	}
}
