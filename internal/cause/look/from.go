package look

import (
	"slices"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cloud"
)

// From turns a snapshot into what the engine reads.
func From(s *cloud.Snapshot) *cause.Cloud {
	c := &cause.Cloud{Project: s.Token.ProjectID}
	for _, m := range s.Missing {
		for _, list := range lists(m) {
			c.Missing = append(c.Missing, cause.Unseen{What: list, Why: m.Cause})
		}
	}
	c.Failing = failing(s.Missing)
	for _, v := range s.Servers {
		c.Servers = append(c.Servers, cause.Server{ID: v.ID, Name: v.Name, Status: v.Status, Task: v.Task, Flavor: v.Flavor, Locked: v.Locked, Fault: v.Fault, FaultAt: v.FaultAt, Created: v.Created, Updated: v.Updated})
	}
	network(c, s)
	tree := newForest(s)
	for _, b := range s.Balancers {
		c.Balancers = append(c.Balancers, cause.Balancer{ID: b.ID, Name: b.Name, Provisioning: b.Provisioning, Operating: b.Operating, Disabled: b.Disabled, Created: b.Created, Updated: b.Updated, Port: b.PortID, Provider: b.Provider, Parts: tree.of(b.ID)})
	}
	for _, v := range s.Volumes {
		c.Volumes = append(c.Volumes, cause.Volume{ID: v.ID, Name: v.Name, Status: v.Status, Server: v.ServerID, Updated: v.Updated})
	}
	for _, i := range s.Images {
		c.Images = append(c.Images, cause.Image{ID: i.ID, Name: i.Name, Status: i.Status, Unlisted: i.Unlisted})
	}
	for _, q := range s.Quotas {
		c.Quotas = append(c.Quotas, cause.Quota{Resource: q.Resource, Limit: q.Limit, Used: q.Used})
	}
	for _, f := range s.Flavors {
		c.Flavors = append(c.Flavors, cause.Flavor{ID: f.ID, Name: f.Name, VCPUs: f.VCPUs, RAM: f.RAM, Disk: f.Disk})
	}
	for _, k := range s.KeyPairs {
		c.KeyPairs = append(c.KeyPairs, k.Name)
	}
	return c
}

// lists are the lists that a failed call leaves empty: all of a service that is not there.
func lists(m cloud.Missing) []string {
	if !m.Absent {
		return []string{m.What}
	}
	return map[cloud.Service][]string{
		cloud.Compute: {cause.ListServers, cause.ListFlavors, cause.ListKeyPairs}, cloud.Volume: {cause.ListVolumes}, cloud.Image: {cause.ListImages},
		cloud.LoadBalancer: {cause.ListBalancers, cause.ListListeners, cause.ListPools}, cloud.Network: {cause.ListNetworks, cause.ListSubnets, cause.ListPorts, cause.ListRouters, cause.ListSecurityGroups, cause.ListFloatingIPs},
	}[m.Service]
}

// network adds what Neutron has.
func network(c *cause.Cloud, s *cloud.Snapshot) {
	for _, p := range s.Ports {
		c.Ports = append(c.Ports, cause.Port{ID: p.ID, Name: p.Name, Status: p.Status, Device: p.DeviceID, Up: p.Up, Groups: p.Groups, Pairs: p.Pairs})
	}
	for _, n := range s.Networks {
		c.Networks = append(c.Networks, cause.Network{ID: n.ID, Name: n.Name, MTU: n.MTU, Disabled: n.Disabled})
	}
	for _, n := range s.Subnets {
		c.Subnets = append(c.Subnets, cause.Subnet{ID: n.ID, Name: n.Name, Network: n.NetworkID, CIDR: n.CIDR, Gateway: n.Gateway, DHCP: n.DHCP, NameServers: n.NameServers, Routes: n.Routes})
	}
	for _, r := range s.Routers {
		c.Routers = append(c.Routers, cause.Router{ID: r.ID, Name: r.Name, Gateway: r.ExternalNetworkID, Disabled: r.Disabled})
	}
	for _, g := range s.SecurityGroups {
		group := cause.SecurityGroup{ID: g.ID, Name: g.Name, Sealed: !g.Egress}
		for i, r := range g.Ingress {
			ports := cause.PortRange{From: r[0], To: r[1]}
			if i < len(g.Sources) { // not in archives of older versions
				ports.Source = g.Sources[i]
			}
			group.Ingress = append(group.Ingress, ports)
		}
		c.SecurityGroups = append(c.SecurityGroups, group)
	}
	for _, f := range s.FloatingIPs {
		c.FloatingIPs = append(c.FloatingIPs, cause.FloatingIP{ID: f.ID, Address: f.Address, Port: f.PortID, Status: f.Status})
	}
}

// forest are the parts of all load balancers, by the ids of these.
type forest struct {
	known bool
	all   map[string]*cause.Parts
}

func newForest(s *cloud.Snapshot) forest {
	f := forest{s.Known(cloud.LoadBalancer, cloud.ListListeners) && s.Known(cloud.LoadBalancer, cloud.ListPools), map[string]*cause.Parts{}}
	at := func(id string) *cause.Parts {
		if f.all[id] == nil {
			f.all[id] = &cause.Parts{}
		}
		return f.all[id]
	}
	for _, l := range s.Listeners {
		for _, id := range l.BalancerIDs {
			at(id).Listeners = append(at(id).Listeners, cause.Listener{Name: l.Name, Port: l.Port, Pool: l.PoolID, Provisioning: l.Provisioning, Disabled: l.Disabled, AllowedCIDRs: l.AllowedCIDRs})
		}
	}
	for _, p := range s.Pools {
		for _, id := range p.BalancerIDs {
			at(id).Pools = append(at(id).Pools, cause.Pool{ID: p.ID, Name: p.Name, Members: p.Members, Provisioning: p.Provisioning, Disabled: p.Disabled})
		}
	}
	return f
}

// of are the parts of a load balancer, nil if they were not read.
func (f forest) of(id string) *cause.Parts {
	switch {
	case !f.known:
		return nil
	case f.all[id] == nil:
		return &cause.Parts{}
	}
	return f.all[id]
}

// services are the names by which people know services.
func services() map[cloud.Service]string {
	return map[cloud.Service]string{cloud.Compute: "Nova", cloud.Network: "Neutron", cloud.Image: "Glance", cloud.Volume: "Cinder", cloud.LoadBalancer: "Octavia"}
}

// failing are the services of which a list failed through no fault of who asked for it. A
// refusal, 401 or 403, is none: a credential may be restricted to what a cluster needs. Nor is
// a list that takes long where the service answers: a project may be very large.
func failing(missing []cloud.Missing) []cause.Failing {
	var all []cause.Failing
	for _, m := range missing {
		name := services()[m.Service]
		if name == "" || m.Absent || m.Slow || m.Status > 0 && m.Status < 500 && m.Status != 429 {
			continue
		}
		if i := slices.IndexFunc(all, func(f cause.Failing) bool { return f.Service == name }); i < 0 {
			all = append(all, cause.Failing{Service: name, Status: m.Status, Words: m.Cause})
		}
	}
	silent := func(f cause.Failing) bool { return f.Status == 0 }
	if mute := slices.DeleteFunc(slices.Clone(all), func(f cause.Failing) bool { return !silent(f) }); len(mute) > 1 {
		// Several that do not answer at the same time: the way there, or who asks, is slow.
		all = slices.DeleteFunc(all, silent)
	}
	return all
}
