package orphan_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/ownership"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks/openstack"
	"github.com/slipway-sh/slipway/stacks/orphan"
	"github.com/slipway-sh/slipway/stacks/workload"
)

const madeBy = "Created by cluster-api-provider-openstack cluster "

// world is a project in which environment prod had clusters.
type world struct {
	*testing.T
	box    *sandboxtest.Cloud
	survey orphan.Survey
	alive  orphan.Alive
}

// placed are clients of a region.
type placed struct {
	openstack.Clients
	region string
	others bool
}

func (p placed) Region() string { return p.region }

func (p placed) OtherRegions() bool { return p.others }

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, box: sandboxtest.Start(t)}
	text, err := os.ReadFile(w.box.CloudsYAML())
	if err != nil {
		t.Fatal(err)
	}
	opened, err := cloud.Open(t.Context(), cloud.Options{Cloud: "sandbox", CloudsYAML: text})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	granted := opened.Provider.GetAuthResult().(tokens.CreateResult)
	user, err := granted.ExtractUser()
	if err != nil {
		t.Fatal(err)
	}
	project, err := granted.ExtractProject()
	if err != nil {
		t.Fatal(err)
	}
	w.survey = orphan.Survey{Inventory: openstack.Inventory{Clients: opened, UserID: user.ID}, Project: project.ID, Environment: "prod",
		Look: func(context.Context) (orphan.Alive, error) { return w.alive, nil }}
	return w
}

func must[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// credential makes that of a cluster, as slipway cluster create does.
func (w *world) credential(environment, namespace, name string) {
	w.Helper()
	w.variant(environment, namespace, name, "")
}

// variant makes one of several of a cluster.
func (w *world) variant(environment, namespace, name, variant string) {
	w.Helper()
	c := openstack.ClusterCredential{Clients: w.survey.Inventory.Clients, UserID: w.survey.Inventory.UserID, Roles: []string{"member"}, Variant: variant,
		Ownership: openstack.Ownership{Environment: environment, Step: workload.Step(types.NamespacedName{Namespace: namespace, Name: name})}}
	if _, _, err := c.Make(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// net makes a network with a subnet that CAPO names for namespace-name.
func (w *world) net(joined, description string) (network, subnet string) {
	w.Helper()
	client := w.box.Member.Network(w.T)
	n := must[*networks.Network](w.T)(networks.Create(w.Context(), client, networks.CreateOpts{Name: "k8s-clusterapi-cluster-" + joined, Description: description}).Extract())
	s := must[*subnets.Subnet](w.T)(subnets.Create(w.Context(), client, subnets.CreateOpts{NetworkID: n.ID, Name: n.Name, Description: description, IPVersion: 4, CIDR: "10.8.0.0/24"}).Extract())
	return n.ID, s.ID
}

func (w *world) balancer(name, description, subnet string) string {
	w.Helper()
	b := must[*loadbalancers.LoadBalancer](w.T)(loadbalancers.Create(w.Context(), w.box.Member.LoadBalancer(w.T), loadbalancers.CreateOpts{Name: name, Description: description, VipSubnetID: subnet}).Extract())
	return b.ID
}

func (w *world) group(name, description string) string {
	w.Helper()
	return must[*groups.SecGroup](w.T)(groups.Create(w.Context(), w.box.Member.Network(w.T), groups.CreateOpts{Name: name, Description: description}).Extract()).ID
}

func (w *world) volume(name, cluster string, more map[string]string) string {
	w.Helper()
	metadata := map[string]string{"cinder.csi.openstack.org/cluster": cluster}
	for k, v := range more {
		metadata[k] = v
	}
	return must[*volumes.Volume](w.T)(volumes.Create(w.Context(), w.box.Member.BlockStorage(w.T), volumes.CreateOpts{Name: name, Size: 1, Metadata: metadata}, nil).Extract()).ID
}

func (w *world) find() []orphan.Orphan {
	w.Helper()
	return must[[]orphan.Orphan](w.T)(w.survey.Find(w.Context()))
}

func (w *world) fail(rule faultinject.Rule) {
	w.Helper()
	if _, err := w.box.Env.Faults.Add(rule); err != nil {
		w.Fatal(err)
	}
}

// told is what was found, in words.
func told(list []orphan.Orphan) []string {
	var words []string
	for _, o := range list {
		word := o.Type + " " + o.Name
		if o.ByName {
			word += " by name"
		}
		if o.Kept != "" {
			word += " stays"
		}
		words = append(words, word)
	}
	slices.Sort(words)
	return words
}

func (w *world) same(what string, got []orphan.Orphan, want ...string) {
	w.Helper()
	want = slices.Sorted(slices.Values(want))
	if words := told(got); !slices.Equal(words, want) {
		w.Errorf("%s:\n  %s\nwant\n  %s", what, strings.Join(words, "\n  "), strings.Join(want, "\n  "))
	}
}

// shop is a cluster that is gone and left everything.
func (w *world) shop() (network, subnet string) {
	w.Helper()
	w.credential("prod", "team", "my-shop")
	const joined = "team-my-shop"
	network, subnet = w.net(joined, madeBy+joined)
	w.balancer("k8s-clusterapi-cluster-"+joined+"-kubeapi", madeBy+joined, subnet)
	w.balancer("kube_service_my-shop_default_web", "Kubernetes external service default/web from cluster my-shop", subnet)
	w.group("k8s-cluster-"+joined+"-secgroup-worker", madeBy+joined)
	w.volume("pvc-1", "my-shop", nil)
	w.volume("pvc-kept", "my-shop", map[string]string{"janitor.capi.azimuth-cloud.com/keep": "true"})
	return network, subnet
}

const (
	shopCredential = "application credential prod-cluster-my-shop-"
	mostOfShop     = "network k8s-clusterapi-cluster-team-my-shop"
)

// lookalikes are resources that are not the shop's, whatever they say. It returns how many
// resources of each service there are of them.
func (w *world) lookalikes() {
	w.Helper()
	client := w.box.Member.Network(w.T)
	_, other := w.net("other-my-shop", madeBy+"other-my-shop") // another management cluster's: the hash differs
	w.balancer("kube_service_my-shop_default_theirs", "", other)
	w.net("team-my-shop", "") // only the name
	tagged := must[*networks.Network](w.T)(networks.Create(w.Context(), client, networks.CreateOpts{Name: "tagged"}).Extract())
	mark := ownership.New("prod", workload.Step(types.NamespacedName{Namespace: "team", Name: "my-shop"}))
	if _, err := attributestags.ReplaceAll(w.Context(), client, "networks", tagged.ID, attributestags.ReplaceAllOpts{Tags: mark.Tags()}).Extract(); err != nil {
		w.Fatal(err)
	}
	w.balancer("kube_service_my-shop-2_default_web", "", other)
	w.group("k8s-cluster-team-my-shop-extra", madeBy+"team-my-shop")
	w.volume("pvc-2", "my-shop-2", nil)
	w.volume("team-my-shop-data", "", nil)
	w.credential("other", "team", "books")
}

// count is how many resources the project has.
func (w *world) count() map[string]int {
	w.Helper()
	c := map[string]int{}
	n, err := networks.List(w.box.Member.Network(w.T), nil).AllPages(w.Context())
	c["networks"] = len(must[[]networks.Network](w.T)(networks.ExtractNetworks(must2(w.T, n, err))))
	b, err := loadbalancers.List(w.box.Member.LoadBalancer(w.T), nil).AllPages(w.Context())
	c["balancers"] = len(must[[]loadbalancers.LoadBalancer](w.T)(loadbalancers.ExtractLoadBalancers(must2(w.T, b, err))))
	g, err := groups.List(w.box.Member.Network(w.T), groups.ListOpts{}).AllPages(w.Context())
	c["groups"] = len(must[[]groups.SecGroup](w.T)(groups.ExtractGroups(must2(w.T, g, err))))
	v, err := volumes.List(w.box.Member.BlockStorage(w.T), nil).AllPages(w.Context())
	c["volumes"] = len(must[[]volumes.Volume](w.T)(volumes.ExtractVolumes(must2(w.T, v, err))))
	things := must[[]openstack.Resource](w.T)(w.survey.Inventory.List(w.Context(), "prod"))
	for _, r := range things {
		if r.Type == openstack.TypeCredential {
			c["credentials"]++
		}
	}
	return c
}

func must2[T any](t *testing.T, value T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return value
}
