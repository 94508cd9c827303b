package preflight

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/cloud"
)

// exists reports whether the environment already has a resource of this kind.
func (r *run) exists(kind string) bool { return r.count(kind) > 0 }

func (r *run) count(kind string) int {
	n := 0
	for _, t := range r.Snapshot.Resources() {
		// What Cluster API created has its cluster's ownership tag, such as
		// servers and security groups: it is not the seed's.
		if t.Kind == kind && t.Owner != nil && t.Owner.Environment == r.Environment.Metadata.Name && t.Owner.Step != clusterStep {
			n++
		}
	}
	return n
}

// checkNames refuses resources that have our names but not our ownership tags
// (S-02): they would be changed or deleted as if they were ours.
func checkNames(r *run) {
	ours := map[string]bool{}
	for _, step := range r.Steps {
		ours[r.Environment.ResourceName(step)] = true
	}
	begun := r.begun()
	if !begun {
		r.foreignCluster()
	}
	for _, t := range r.Snapshot.Resources() {
		if !ours[t.Name] {
			continue
		}
		object := t.Kind + " " + t.Name
		const remedy = "rename or delete it, or choose another metadata.name"
		switch {
		case t.Kind == "key pair" && t.Name != r.seed.SSH.KeyPair && !begun:
			// Key pairs have no tags: if other resources of the environment
			// exist, the key pair counts as ours.
			r.find(Warning, object, remedy, "a key pair with this name exists, but no other resource of the environment; key pairs have no tags, so Slipway would treat it as its own")
		case t.Kind == "key pair":
		case t.Owner == nil:
			r.find(Error, object, remedy, "it has the name of a resource of this environment but not its ownership tag (ID %s)", t.ID)
		case t.Owner.Environment != r.Environment.Metadata.Name:
			r.find(Error, object, remedy, "it belongs to environment %s (ID %s)", t.Owner.Environment, t.ID)
		}
	}
}

// foreignCluster refuses a management cluster that another tool made, such as one that
// slipway adopt environment took over: Cluster API finds its load balancer by the cluster's
// name, and would add machines to it.
func (r *run) foreignCluster() {
	if r.spec.ManagementCluster == nil {
		return
	}
	for _, s := range r.Snapshot.Servers {
		if strings.HasPrefix(s.Name, r.controlPlanePrefix()) && s.Owner == nil {
			r.find(Error, "server "+s.Name, "choose another metadata.name; slipway up does not manage a management cluster that another tool made",
				"it has the name of a control plane server of this environment, and nothing of the environment exists: another tool made it (ID %s)", s.ID)
		}
	}
}

// begun reports whether any resource of the environment exists already.
func (r *run) begun() bool {
	for _, t := range r.Snapshot.Resources() {
		if t.Owner != nil && t.Owner.Environment == r.Environment.Metadata.Name && !r.away(t) {
			return true
		}
	}
	return false
}

// away reports whether a resource is of an environment of the same name in another region:
// Keystone keeps the credentials of all regions in one list.
func (r *run) away(t cloud.Resource) bool {
	return r.Snapshot.Region != "" && slices.ContainsFunc(r.Snapshot.Credentials, func(c cloud.CredentialInfo) bool {
		return c.Kind == t.Kind && c.ID == t.ID && c.Region != "" && c.Region != r.Snapshot.Region
	})
}

// reach is an address range that machines must be able to reach.
type reach struct {
	object string
	prefix netip.Prefix
}

// checkRanges compares the environment's address ranges with those around it.
// Networks that the seed is connected to must not overlap; other networks of the
// project may, but they could never be connected later.
func checkRanges(r *run) {
	inside := []reach{{"spec.seed.k3s.podCIDR", r.seed.K3s.PodCIDR}, {"spec.seed.k3s.serviceCIDR", r.seed.K3s.ServiceCIDR}}
	if r.seed.MakesNetwork() {
		inside = append(inside, reach{"spec.seed.network.cidr", r.seed.Network.CIDR})
	}
	c := r.result.Choices
	names := map[string]string{}
	for _, n := range r.Snapshot.Networks {
		names[n.ID] = n.Name
	}
	for _, s := range r.Snapshot.Subnets {
		prefix, err := netip.ParsePrefix(s.CIDR)
		if err != nil || (s.Owner != nil && s.Owner.Environment == r.Environment.Metadata.Name) {
			continue
		}
		level := Warning
		if s.NetworkID == c.ExternalNetworkID || s.NetworkID == c.NetworkID || s.NetworkID == c.ProvisioningNetworkID || s.NetworkID == c.FloatingNetworkID {
			level = Error
		}
		what := "subnet " + s.CIDR + " of network " + names[s.NetworkID]
		r.overlaps(level, inside, prefix, what)
		if s.NetworkID == c.NetworkID {
			r.overlaps(Error, r.ofNodes(), prefix, what)
		}
	}
	r.routes(inside)
}

// ofNodes are the ranges that the nodes of the management cluster use beside those of an existing
// network: a node would take others of that network for pods. Values of the chart may set others.
// A cluster that is there cannot change its ranges.
func (r *run) ofNodes() []reach {
	m := r.spec.ManagementCluster
	if m == nil || m.Values["kubeNetwork"] != nil || r.clusterExists() {
		return nil
	}
	return []reach{{"spec.managementCluster.podCIDR", m.PodCIDR}, {"spec.managementCluster.serviceCIDR", m.ServiceCIDR}}
}

// routes compares with the static routes of routers on the same external network:
// what is behind those routers is reached through that network.
func (r *run) routes(inside []reach) {
	for _, router := range r.Snapshot.Routers {
		if router.ExternalNetworkID == "" || router.ExternalNetworkID != r.result.Choices.ExternalNetworkID {
			continue
		}
		for _, route := range router.Routes {
			if prefix, err := netip.ParsePrefix(route); err == nil && prefix.Bits() > 0 {
				r.overlaps(Warning, inside, prefix, "route "+route+" of router "+router.Name)
			}
		}
	}
}

func (r *run) overlaps(level Level, inside []reach, prefix netip.Prefix, what string) {
	for _, one := range inside {
		if !one.prefix.IsValid() || !one.prefix.Overlaps(prefix) {
			continue
		}
		// Addresses of pods and Services are used on the seed only, so a network
		// that the seed is not connected to does not matter.
		if level == Warning && one.object != "spec.seed.network.cidr" {
			continue
		}
		r.find(level, one.object, "choose a range that nothing nearby uses", "%s overlaps %s", one.prefix, what)
	}
}
