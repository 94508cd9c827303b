package orphan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/addons/janitor"
	"github.com/slipway-sh/slipway/stacks/openstack"
	"github.com/slipway-sh/slipway/stacks/workload"
)

// former is a cluster that is gone.
type former struct {
	environment, name, hash, step string
	// namespace is known once something with CAPO's names is found.
	namespace string
	// credentials are one, or two if what runs on the cluster has one of its own.
	credentials []applicationcredentials.ApplicationCredential
	// disputed says why what only bears the name may be another's.
	disputed string
	// runs says why the cluster is not gone after all, or may not be.
	runs string

	networks, routers, groups, vips map[string]bool
}

// CAPO's names and description (pkg/cloud/services, pkg/utils/names). The rest of the name
// is namespace-name of the cluster.
const (
	madeName    = "k8s-clusterapi-cluster-"
	groupName   = "k8s-cluster-"
	groupSuffix = "-secgroup-"
	apiSuffix   = "-kubeapi"
	madeBy      = "Created by cluster-api-provider-openstack cluster "
)

// is reports whether CAPO's joined name is that of the cluster: the hash decides where
// dashes are ambiguous.
func (g *former) is(joined string) bool {
	namespace, ok := strings.CutSuffix(joined, "-"+g.name)
	if !ok || namespace == "" || workload.Step(types.NamespacedName{Namespace: namespace, Name: g.name}) != g.step {
		return false
	}
	g.namespace = namespace
	return true
}

// made reports whether CAPO made something for the cluster: both its name and its
// description say so.
func (g *former) made(name, prefix, suffix, description string) bool {
	joined, ok := strings.CutPrefix(name, prefix)
	if ok && suffix == groupSuffix {
		joined, _, ok = strings.Cut(joined, groupSuffix)
	} else if ok {
		joined, ok = strings.CutSuffix(joined, suffix)
	}
	return ok && g.is(joined) && description == madeBy+joined
}

// locate finds the cluster's network, router and security groups, and whether a machine
// of it still runs.
func (g *former) locate(l lists, alive Alive) {
	g.networks, g.routers, g.groups, g.vips = map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, n := range l.networks {
		if g.made(n.Name, madeName, "", n.Description) {
			g.networks[n.ID] = true
		}
	}
	for _, r := range l.routers {
		if g.made(r.Name, madeName, "", r.Description) {
			g.routers[r.ID] = true
		}
	}
	for _, s := range l.groups {
		if g.made(s.Name, groupName, groupSuffix, s.Description) {
			g.groups[s.ID] = true
		}
	}
	for _, p := range l.ports {
		switch server := strings.HasPrefix(p.DeviceOwner, "compute:"); {
		case server && g.near(p):
			g.runs = "a server is on its network or in its security group: " + p.DeviceID
		case server && g.machine(p, alive):
			g.runs = "a server has a port that CAPO made for a cluster of this name: " + p.DeviceID
		}
	}
}

// near reports whether a port is on the cluster's network, or guarded by its groups.
func (g *former) near(p ports.Port) bool {
	return g.networks[p.NetworkID] || slices.ContainsFunc(p.SecurityGroups, func(id string) bool { return g.groups[id] })
}

// described reports whether CAPO's description of a port is that of the cluster's machines.
// It has the cluster's name alone; older ones also have its namespace.
func (g *former) described(p ports.Port) bool {
	joined, ok := strings.CutPrefix(p.Description, madeBy)
	return ok && (joined == g.name || g.is(joined))
}

// machine reports whether a port may be that of a machine of a cluster without a network of
// its own, whose machines are on one that was there before, perhaps without a security group.
func (g *former) machine(p ports.Port, alive Alive) bool {
	return len(g.networks) == 0 && g.described(p) && !alive.has(p)
}

func (g *former) key() string {
	if g.namespace == "" {
		return g.name
	}
	return g.namespace + "/" + g.name
}

// orphans lists what the cluster left. content says that containers may go that have objects.
func (g *former) orphans(l lists, content bool) []Orphan {
	var found []Orphan
	add := func(kind, id, name, state, proof string, byName bool, kept string) {
		o := Orphan{Resource: openstack.Resource{Type: kind, ID: id, Name: name, Step: g.step, State: state}, Proof: proof, ByName: byName, Kept: kept}
		if byName && o.Kept == "" {
			o.Kept = g.disputed
		}
		if g.runs != "" {
			o.Kept = g.runs
		}
		found = append(found, o)
	}
	g.infrastructure(l, add)
	g.services(l, add)
	g.storage(l, add)
	g.objects(l, content, add)
	left := len(found)
	kept := ""
	if left > 0 {
		kept = fmt.Sprintf("it is the proof for the other %d of the cluster, and goes after them", left)
	}
	for _, c := range g.credentials {
		add(openstack.TypeCredential, c.ID, c.Name, "present", "the operator's own, with the ownership tag of "+g.environment+" and of a cluster that does not exist", false, kept)
	}
	for i := range found { // the namespace is known now
		found[i].Cluster = g.key()
	}
	return found
}

type adder func(kind, id, name, state, proof string, byName bool, kept string)

// infrastructure is what CAPO made.
func (g *former) infrastructure(l lists, add adder) {
	const proof = "made by CAPO for a cluster whose credential has this environment's tag and hash"
	for _, n := range l.networks {
		if g.networks[n.ID] {
			add(openstack.TypeNetwork, n.ID, n.Name, n.Status, proof, false, "")
		}
	}
	for _, s := range l.subnets {
		if g.networks[s.NetworkID] && g.made(s.Name, madeName, "", s.Description) {
			add(openstack.TypeSubnet, s.ID, s.Name, s.CIDR, proof, false, "")
		}
	}
	for _, r := range l.routers {
		if g.routers[r.ID] {
			add(openstack.TypeRouter, r.ID, r.Name, r.Status, proof, false, "")
		}
	}
	for _, s := range l.groups {
		if g.groups[s.ID] {
			add(openstack.TypeSecurityGroup, s.ID, s.Name, "present", proof, false, "")
		}
	}
	for _, p := range l.ports {
		if g.near(p) && p.DeviceID == "" && p.DeviceOwner == "" {
			kept := ""
			if !g.described(p) {
				kept = "CAPO did not make it"
			}
			add(openstack.TypePort, p.ID, p.Name, p.Status, "on the cluster's network or in its security group, without a server", false, kept)
		}
	}
	for _, b := range l.balancers {
		if g.made(b.Name, madeName, apiSuffix, b.Description) {
			g.vips[b.VipPortID] = true
			add(openstack.TypeLoadBalancer, b.ID, b.Name, b.ProvisioningStatus, proof, false, "")
		}
	}
}

// services is what the cloud controller manager made for Services of the cluster: it
// writes the cluster's name only, so the place decides.
func (g *former) services(l lists, add adder) {
	on := func(certain bool) (string, bool) {
		if certain {
			return "made for a Service, and on the cluster's own network or router", false
		}
		return "made for a Service of a cluster of this name", true
	}
	for _, b := range l.balancers {
		if janitor.BalancerOf(b.Name, g.name) {
			proof, byName := on(g.networks[b.VipNetworkID])
			if !byName {
				g.vips[b.VipPortID] = true
			}
			add(openstack.TypeLoadBalancer, b.ID, b.Name, b.ProvisioningStatus, proof, byName, "")
		}
	}
	for _, f := range l.addresses {
		joined, capo := strings.CutPrefix(f.Description, madeBy)
		certain := capo && g.is(joined) || f.PortID != "" && g.vips[f.PortID] || f.RouterID != "" && g.routers[f.RouterID]
		if capo && g.is(joined) || janitor.AddressOf(f.Description, g.name) {
			proof, byName := on(certain)
			add(openstack.TypeFloatingIP, f.ID, f.FloatingIP, f.Status, proof, byName, "")
		}
	}
	for _, s := range l.groups {
		if janitor.GroupOf(s.Description, g.name) {
			proof, byName := on(slices.ContainsFunc(l.ports, func(p ports.Port) bool { return g.networks[p.NetworkID] && slices.Contains(p.SecurityGroups, s.ID) }))
			add(openstack.TypeSecurityGroup, s.ID, s.Name, "present", proof, byName, "")
		}
	}
}

// storage is what Cinder CSI made: it writes the cluster's name, and nothing else shows
// whose a volume without a server is.
func (g *former) storage(l lists, add adder) {
	for _, v := range l.volumes {
		if v.Metadata[janitor.ClusterKey] != g.name {
			continue
		}
		kept := ""
		switch {
		case v.Metadata[janitor.KeepKey] == "true":
			kept = "its metadata says " + janitor.KeepKey
		case len(v.Attachments) > 0:
			kept = "it is attached to server " + v.Attachments[0].ServerID
		}
		add(openstack.TypeVolume, v.ID, v.Name, v.Status, "made for a volume claim of a cluster of this name", true, kept)
	}
}

// objects are the containers of the cluster's object stores. Those that have objects may be what is
// left of the cluster's data, such as backups.
func (g *former) objects(l lists, content bool, add adder) {
	for _, c := range l.containers {
		if c.Step != g.step {
			continue
		}
		kept := ""
		if c.Objects > 0 && !content {
			kept = fmt.Sprintf("it has objects (%d), which go with --object-stores delete", c.Objects)
		}
		add(openstack.TypeContainer, c.Name, c.Name, fmt.Sprintf("%d objects", c.Objects), "the ownership tag of "+g.environment+" and of the cluster whose credential this is", false, kept)
	}
}
