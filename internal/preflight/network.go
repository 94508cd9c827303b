package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/cloud"
)

// pick finds an element by name or ID. If several have the name, the finding lists
// their IDs; if none has, the existing names.
func pick[T any](r *run, kind, wanted string, all []T, key func(T) (id, name string)) (found T, ok bool) {
	var ids, names []string
	for _, one := range all {
		id, name := key(one)
		if id == wanted {
			return one, true
		}
		names = append(names, name)
		if name == wanted {
			found = one
			ids = append(ids, id)
		}
	}
	object := kind + " " + wanted
	switch len(ids) {
	case 1:
		return found, true
	case 0:
		slices.Sort(names)
		r.find(Error, object, "choose "+choices(slices.Compact(names)), "nothing has this name or ID")
	default:
		r.find(Error, object, "use the ID of one of them", "%d have this name: %s", len(ids), strings.Join(ids, ", "))
	}
	var none T
	return none, false
}

func choices(names []string) string {
	const most = 12
	switch {
	case len(names) == 0:
		return "another one: the project sees none"
	case len(names) > most:
		return fmt.Sprintf("one of %s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return "one of " + strings.Join(names, ", ")
}

func networkKey(n cloud.NetworkInfo) (id, name string) { return n.ID, n.Name }

func (r *run) external() []cloud.NetworkInfo {
	return slices.DeleteFunc(slices.Clone(r.Snapshot.Networks), func(n cloud.NetworkInfo) bool { return !n.External })
}

// checkExternalNetwork chooses the only external network, or the named one (F11,
// S-09). A seed that needs none has none chosen for it; one that is named is for clusters.
func checkExternalNetwork(r *run) {
	if !r.Snapshot.Known(cloud.Network, cloud.ListNetworks) {
		return
	}
	all := r.external()
	c := &r.result.Choices
	if wanted := r.spec.ExternalNetwork; wanted != "" {
		if n, ok := pick(r, "external network", wanted, all, networkKey); ok {
			c.ExternalNetworkID, c.ExternalNetworkName = n.ID, n.Name
		}
		return
	}
	if !r.seed.MakesNetwork() && !r.seed.WantsFloatingIP() {
		return
	}
	if n, ok := r.keptNetwork(all); ok {
		c.ExternalNetworkID, c.ExternalNetworkName = n.ID, n.Name
		r.find(Info, "external network "+n.Name, "", "kept: the router's gateway is on it")
		return
	}
	switch len(all) {
	case 0:
		r.noExternal()
	case 1:
		c.ExternalNetworkID, c.ExternalNetworkName = all[0].ID, all[0].Name
		r.find(Info, "external network "+all[0].Name, "", "chosen: it is the only external network")
	default:
		var names []string
		for _, n := range all {
			names = append(names, fmt.Sprintf("%s (%s)", n.Name, n.ID))
		}
		slices.Sort(names)
		r.find(Error, "external network", "choose one in spec.externalNetwork", "there are %d: %s", len(all), strings.Join(names, ", "))
	}
}

// noExternal refuses a project without an external network, unless nothing of the environment is to
// be on one: a local seed has no address in the cloud.
func (r *run) noExternal() {
	m, project := r.spec.ManagementCluster, r.Snapshot.Token.ProjectName
	switch {
	case r.seed.MakesNetwork() || !r.seed.IsLocal():
		r.find(Error, "external network", "ask the cloud's operator for one, or use an existing network without a floating IP", "project %s sees none, so neither the router nor the seed could be reached", project)
	case m != nil && m.APIServer.FloatingIP:
		r.find(Error, "external network", "ask the cloud's operator for one, or set spec.managementCluster.apiServer.floatingIP to false", "project %s sees none, so the API of the management cluster would get no floating IP", project)
	}
}

// keptNetwork returns the external network of the environment's existing router, so
// that a network that appears later does not make the choice ambiguous.
func (r *run) keptNetwork(all []cloud.NetworkInfo) (cloud.NetworkInfo, bool) {
	for _, router := range r.Snapshot.Routers {
		if router.Owner == nil || router.Owner.Environment != r.Environment.Metadata.Name {
			continue
		}
		for _, n := range all {
			if n.ID == router.ExternalNetworkID {
				return n, true
			}
		}
	}
	return cloud.NetworkInfo{}, false
}

func checkNetwork(r *run) {
	if !r.Snapshot.Known(cloud.Network, cloud.ListNetworks) {
		return
	}
	c := &r.result.Choices
	if wanted := r.seed.ProvisioningNetwork; wanted != "" {
		if n, ok := pick(r, "provisioning network", wanted, r.Snapshot.Networks, networkKey); ok {
			c.ProvisioningNetworkID = n.ID
		}
	}
	if r.seed.MakesNetwork() {
		return
	}
	n, ok := pick(r, "network", r.seed.Network.Existing, r.Snapshot.Networks, networkKey)
	if !ok {
		return
	}
	c.NetworkID, c.NetworkMTU = n.ID, n.MTU
	if !r.Snapshot.Known(cloud.Network, "subnets") {
		return
	}
	c.NetworkCIDRs = r.ranges(n.ID)
	subnets := slices.DeleteFunc(slices.Clone(r.Snapshot.Subnets), func(s cloud.SubnetInfo) bool { return s.NetworkID != n.ID })
	if wanted := r.seed.Network.Subnet; wanted != "" {
		if s, ok := pick(r, "subnet", wanted, subnets, func(s cloud.SubnetInfo) (string, string) { return s.ID, s.Name }); ok {
			c.SubnetID = s.ID
		}
		return
	}
	if len(subnets) == 0 {
		r.find(Error, "network "+n.Name, "add a subnet, or name another network", "it has no subnet, so servers on it would get no address")
	}
}

// ranges are the address ranges of a network's subnets that the project sees,
// sorted.
func (r *run) ranges(networkID string) []string {
	var found []string
	for _, s := range r.Snapshot.Subnets {
		if networkID != "" && s.NetworkID == networkID {
			found = append(found, s.CIDR)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// checkFloatingIP resolves the three ways to reach the seed (F12).
func checkFloatingIP(r *run) {
	c, ip := &r.result.Choices, r.seed.FloatingIP
	defer func() {
		c.FloatingCIDRs = slices.Compact(slices.Sorted(slices.Values(slices.Concat(r.ranges(c.FloatingNetworkID), r.ranges(c.ExternalNetworkID)))))
	}()
	switch {
	case r.seed.IsLocal():
		return
	case !r.seed.WantsFloatingIP():
		if r.seed.ProvisioningNetwork == "" && r.seed.MakesNetwork() {
			r.find(Warning, "seed", "give the seed a floating IP, a provisioning network, or an existing network that you can reach", "it has no floating IP, so your machine must reach the addresses of %s directly", r.seed.Network.CIDR)
		}
	case ip.Address.IsValid():
		r.fixedAddress(ip.Address.String())
	case ip.Pool != "":
		if n, ok := pick(r, "floating IP pool", ip.Pool, r.external(), networkKey); ok {
			c.FloatingNetworkID = n.ID
		}
	default:
		c.FloatingNetworkID = c.ExternalNetworkID
	}
}

func (r *run) fixedAddress(address string) {
	if !r.Snapshot.Known(cloud.Network, cloud.ListFloatingIPs) {
		return
	}
	object := "floating IP " + address
	i := slices.IndexFunc(r.Snapshot.FloatingIPs, func(f cloud.FloatingIPInfo) bool { return f.Address == address })
	if i < 0 {
		r.find(Error, object, "create it in the project, or leave spec.seed.floatingIP.address empty", "project %s has no floating IP with this address", r.Snapshot.Token.ProjectName)
		return
	}
	f := r.Snapshot.FloatingIPs[i]
	// The port is that of the seed, which keeps its data volume while its server is replaced; up
	// refuses a foreign one.
	if f.PortID != "" && !r.exists("server") && !r.exists("volume") {
		r.find(Error, object, "disassociate it, or name another", "it is in use by port %s", f.PortID)
		return
	}
	r.result.Choices.FloatingIPID, r.result.Choices.FloatingNetworkID = f.ID, f.NetworkID
}

// checkZones refuses zones that do not exist. Hints for the network are left out if
// the cloud does not have the extension (S-10).
func checkZones(r *run) {
	if !r.seed.IsLocal() {
		r.zone(Error, "spec.seed.availabilityZone", cloud.Compute, cloud.ComputeZones, r.seed.AvailabilityZone)
	}
	for _, v := range r.volumes() {
		r.zone(r.mistake(v), v.key+".availabilityZone", cloud.Volume, cloud.VolumeZones, v.zone)
	}
	hints := r.seed.Network.AvailabilityZoneHints
	if len(hints) == 0 {
		return
	}
	// Hints that were sent once stay, also while nobody knows the extensions: without them the
	// network and the router would be replaced.
	known, extensions := r.Snapshot.Known(cloud.Network, cloud.ListExtensions), r.Snapshot.Extensions
	if known && (!slices.Contains(extensions, "network_availability_zone") || !slices.Contains(extensions, "router_availability_zone")) {
		r.find(Warning, "availability zone hints", "remove spec.seed.network.availabilityZoneHints", "Neutron has no availability zones here, so the hints are not sent")
		return
	}
	for _, hint := range hints {
		r.zone(Error, "spec.seed.network.availabilityZoneHints", cloud.Network, cloud.NetworkZones, hint)
		r.zone(Error, "spec.seed.network.availabilityZoneHints", cloud.Network, cloud.RouterZones, hint)
	}
	r.result.Choices.AvailabilityZoneHints = hints
}

func (r *run) zone(level Level, key string, service cloud.Service, kind, name string) {
	zones := r.Snapshot.Zones[kind]
	if name == "" || slices.Contains(zones, name) || !r.Snapshot.Known(service, cloud.ListZones) {
		return
	}
	r.find(level, "availability zone "+name, "choose "+choices(zones)+" in "+key, "there is no available %s zone with this name", kind)
}
