package model

import "github.com/slipway-sh/slipway/internal/sandbox/store"

// Networking is Neutron's tables. The indexes named Of… without more are by
// project.
type Networking struct {
	Networks   *store.Table[Network]
	NetworksOf *store.Index[Network]

	Subnets          *store.Table[Subnet]
	SubnetsOf        *store.Index[Subnet]
	SubnetsOfNetwork *store.Index[Subnet]
	SubnetsOfPool    *store.Index[Subnet] // by subnet pool; "" has none

	Ports          *store.Table[Port]
	PortsOf        *store.Index[Port]
	PortsOfNetwork *store.Index[Port]
	PortsOfDevice  *store.Index[Port]
	PortsOfSubnet  *store.Index[Port]
	PortsOfGroup   *store.Index[Port] // by security group
	PortsByAddress *store.Index[Port] // by AddressKey
	PortsByMAC     *store.Index[Port]

	Routers   *store.Table[Router]
	RoutersOf *store.Index[Router]

	FloatingIPs          *store.Table[FloatingIP]
	FloatingIPsOf        *store.Index[FloatingIP]
	FloatingIPsOfPort    *store.Index[FloatingIP] // by the port it is translated to
	FloatingIPsOfRouter  *store.Index[FloatingIP]
	FloatingIPsByAddress *store.Index[FloatingIP]

	Forwardings             *store.Table[PortForwarding]
	ForwardingsOfFloatingIP *store.Index[PortForwarding]
	ForwardingsOfPort       *store.Index[PortForwarding]

	Groups        *store.Table[SecurityGroup]
	GroupsOf      *store.Index[SecurityGroup]
	Rules         *store.Table[SecurityGroupRule]
	RulesOf       *store.Index[SecurityGroupRule]
	RulesOfGroup  *store.Index[SecurityGroupRule]
	RulesOfRemote *store.Index[SecurityGroupRule] // by remote group or address group

	AddressGroups   *store.Table[AddressGroup]
	AddressGroupsOf *store.Index[AddressGroup]

	Policies         *store.Table[RBACPolicy]
	PoliciesOf       *store.Index[RBACPolicy]
	PoliciesOfObject *store.Index[RBACPolicy]
	PoliciesOfTarget *store.Index[RBACPolicy] // by project, or "*"

	Trunks          *store.Table[Trunk]
	TrunksOf        *store.Index[Trunk]
	TrunksOfPort    *store.Index[Trunk]
	TrunksOfSubPort *store.Index[Trunk]

	Pools    *store.Table[SubnetPool]
	PoolsOf  *store.Index[SubnetPool]
	Scopes   *store.Table[AddressScope]
	ScopesOf *store.Index[AddressScope]

	Segments          *store.Table[NetworkSegment]
	SegmentsOfNetwork *store.Index[NetworkSegment]

	QoS   *store.Table[QoSPolicy]
	QoSOf *store.Index[QoSPolicy]
}

// AddressKey is the key of an address in PortsByAddress.
func AddressKey(subnetID, address string) string { return subnetID + "/" + address }

func newNetworking(s *store.Store) Networking {
	var n Networking
	n.Networks = store.NewTable(s, "network.networks", func(v Network) string { return v.ID })
	n.NetworksOf = n.Networks.Index(func(v Network) string { return v.ProjectID })
	n.Subnets = store.NewTable(s, "network.subnets", func(v Subnet) string { return v.ID })
	n.SubnetsOf = n.Subnets.Index(func(v Subnet) string { return v.ProjectID })
	n.SubnetsOfNetwork = n.Subnets.Index(func(v Subnet) string { return v.NetworkID })
	n.SubnetsOfPool = n.Subnets.Index(func(v Subnet) string { return text(v.SubnetPoolID) })
	n.addPorts(s)
	n.addRouting(s)
	n.addSecurity(s)
	n.Trunks = store.NewTable(s, "network.trunks", func(v Trunk) string { return v.ID })
	n.TrunksOf = n.Trunks.Index(func(v Trunk) string { return v.ProjectID })
	n.TrunksOfPort = n.Trunks.Index(func(v Trunk) string { return v.PortID })
	n.TrunksOfSubPort = n.Trunks.IndexEach(func(v Trunk) []string {
		return each(v.SubPorts, func(p SubPort) string { return p.PortID })
	})
	n.Pools = store.NewTable(s, "network.subnetpools", func(v SubnetPool) string { return v.ID })
	n.PoolsOf = n.Pools.Index(func(v SubnetPool) string { return v.ProjectID })
	n.Scopes = store.NewTable(s, "network.address_scopes", func(v AddressScope) string { return v.ID })
	n.ScopesOf = n.Scopes.Index(func(v AddressScope) string { return v.ProjectID })
	n.Segments = store.NewTable(s, "network.segments", func(v NetworkSegment) string { return v.ID })
	n.SegmentsOfNetwork = n.Segments.Index(func(v NetworkSegment) string { return v.NetworkID })
	n.QoS = store.NewTable(s, "network.qos_policies", func(v QoSPolicy) string { return v.ID })
	n.QoSOf = n.QoS.Index(func(v QoSPolicy) string { return v.ProjectID })
	return n
}

func (n *Networking) addPorts(s *store.Store) {
	n.Ports = store.NewTable(s, "network.ports", func(v Port) string { return v.ID })
	n.PortsOf = n.Ports.Index(func(v Port) string { return v.ProjectID })
	n.PortsOfNetwork = n.Ports.Index(func(v Port) string { return v.NetworkID })
	n.PortsOfDevice = n.Ports.Index(func(v Port) string { return v.DeviceID })
	n.PortsOfGroup = n.Ports.IndexEach(func(v Port) []string { return v.Groups })
	n.PortsByMAC = n.Ports.Index(func(v Port) string { return v.MAC })
	n.PortsOfSubnet = n.Ports.IndexEach(func(v Port) []string {
		return each(v.FixedIPs, func(ip FixedIP) string { return ip.SubnetID })
	})
	n.PortsByAddress = n.Ports.IndexEach(func(v Port) []string {
		return each(v.FixedIPs, func(ip FixedIP) string { return AddressKey(ip.SubnetID, ip.IPAddress) })
	})
}

func (n *Networking) addRouting(s *store.Store) {
	n.Routers = store.NewTable(s, "network.routers", func(v Router) string { return v.ID })
	n.RoutersOf = n.Routers.Index(func(v Router) string { return v.ProjectID })
	n.FloatingIPs = store.NewTable(s, "network.floatingips", func(v FloatingIP) string { return v.ID })
	n.FloatingIPsOf = n.FloatingIPs.Index(func(v FloatingIP) string { return v.ProjectID })
	n.FloatingIPsOfPort = n.FloatingIPs.Index(func(v FloatingIP) string { return text(v.PortID) })
	n.FloatingIPsOfRouter = n.FloatingIPs.Index(func(v FloatingIP) string { return text(v.RouterID) })
	n.FloatingIPsByAddress = n.FloatingIPs.Index(func(v FloatingIP) string { return v.IPAddress })
	n.Forwardings = store.NewTable(s, "network.port_forwardings", func(v PortForwarding) string { return v.ID })
	n.ForwardingsOfFloatingIP = n.Forwardings.Index(func(v PortForwarding) string { return v.FloatingIPID })
	n.ForwardingsOfPort = n.Forwardings.Index(func(v PortForwarding) string { return v.InternalPortID })
}

func (n *Networking) addSecurity(s *store.Store) {
	n.Groups = store.NewTable(s, "network.security_groups", func(v SecurityGroup) string { return v.ID })
	n.GroupsOf = n.Groups.Index(func(v SecurityGroup) string { return v.ProjectID })
	n.Rules = store.NewTable(s, "network.security_group_rules", func(v SecurityGroupRule) string { return v.ID })
	n.RulesOf = n.Rules.Index(func(v SecurityGroupRule) string { return v.ProjectID })
	n.RulesOfGroup = n.Rules.Index(func(v SecurityGroupRule) string { return v.GroupID })
	n.RulesOfRemote = n.Rules.IndexEach(func(v SecurityGroupRule) []string {
		return []string{text(v.RemoteGroup), text(v.RemoteAddress)}
	})
	n.AddressGroups = store.NewTable(s, "network.address_groups", func(v AddressGroup) string { return v.ID })
	n.AddressGroupsOf = n.AddressGroups.Index(func(v AddressGroup) string { return v.ProjectID })
	n.Policies = store.NewTable(s, "network.rbac_policies", func(v RBACPolicy) string { return v.ID })
	n.PoliciesOf = n.Policies.Index(func(v RBACPolicy) string { return v.ProjectID })
	n.PoliciesOfObject = n.Policies.Index(func(v RBACPolicy) string { return v.ObjectID })
	n.PoliciesOfTarget = n.Policies.Index(func(v RBACPolicy) string { return v.Target })
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func each[T any](items []T, of func(T) string) []string {
	values := make([]string, 0, len(items))
	for _, item := range items {
		values = append(values, of(item))
	}
	return values
}
