package preflight

import (
	"net/netip"
)

// exists says that a thing of this kind belongs to the environment already.
func (r *run) exists(kind string) bool { return r.count(kind) > 0 }

func (r *run) count(kind string) int {
	n := 0
	for _, t := range r.Snapshot.Things() {
		// What Cluster API made has the marks of its cluster, as servers and
		// security groups: it is not the seed's.
		if t.Kind == kind && t.Owner != nil && t.Owner.Environment == r.Environment.Metadata.Name && t.Owner.Step != clusterStep {
			n++
		}
	}
	return n
}

// checkNames refuses things that have our names and not our marks (S-02):
// they would be changed or deleted as if they were ours.
func checkNames(r *run) {
	ours := map[string]bool{}
	for _, step := range r.Steps {
		ours[r.Environment.ResourceName(step)] = true
	}
	begun := r.begun()
	for _, t := range r.Snapshot.Things() {
		if !ours[t.Name] {
			continue
		}
		object := t.Kind + " " + t.Name
		const remedy = "rename or delete it, or choose another metadata.name"
		switch {
		case t.Kind == "key pair" && t.Name != r.seed.SSH.KeyPair && !begun:
			// Key pairs have no marks: beside other things of the environment
			// it is taken for ours.
			r.find(Warning, object, remedy, "a key pair of this name exists, and nothing else of the environment: key pairs carry no marks, so that it would be taken for ours")
		case t.Kind == "key pair":
		case t.Owner == nil:
			r.find(Error, object, remedy, "it has the name of a thing of this environment but not its marks (ID %s)", t.ID)
		case t.Owner.Environment != r.Environment.Metadata.Name:
			r.find(Error, object, remedy, "it belongs to environment %s (ID %s)", t.Owner.Environment, t.ID)
		}
	}
}

// begun says that something of the environment exists already.
func (r *run) begun() bool {
	for _, t := range r.Snapshot.Things() {
		if t.Owner != nil && t.Owner.Environment == r.Environment.Metadata.Name {
			return true
		}
	}
	return false
}

// reach is a range of addresses that machines must be able to reach.
type reach struct {
	object string
	prefix netip.Prefix
}

// checkRanges compares the environment's ranges with those around it. What
// the seed is itself connected to must not overlap; other networks of the
// project may, but could never be connected later.
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
		r.overlaps(level, inside, prefix, "subnet "+s.CIDR+" of network "+names[s.NetworkID])
	}
	r.routes(inside)
}

// routes compares with the static routes of routers on the same external
// network: what lies behind them is reached through it.
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
		// Pods and services are seen on the seed only; a network that it is
		// not connected to does not disturb them.
		if level == Warning && one.object != "spec.seed.network.cidr" {
			continue
		}
		r.find(level, one.object, "choose a range that nothing around uses", "%s overlaps %s", one.prefix, what)
	}
}
