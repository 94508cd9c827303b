package network

import (
	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// PortSpec is a port that a service makes for a device. Only NetworkID is
// needed.
type PortSpec struct {
	ProjectID   string
	NetworkID   string
	Name        string
	Description string
	Tags        []string
	// FixedIPs asks for subnets, addresses or both (an entry with one of them
	// is completed); nil takes an address of the first IPv4 and of every
	// automatic IPv6 subnet.
	FixedIPs []model.FixedIP
	MAC      string
	// Groups are ids of security groups; nil is the project's default group,
	// which is made if need be, and none on a network without port security.
	Groups       []string
	AllowedPairs []model.AddressPair
	// Binding makes the port's device at once.
	Binding Binding
	// NoQuota makes the port outside of the project's quota, for services.
	NoQuota bool
}

// Binding says which device a port belongs to. HostID names the host and lets
// the port become ACTIVE; without it the port only knows its device. DNSName
// is the server's host name.
type Binding struct {
	DeviceID    string // the server's id
	DeviceOwner string // "compute:nova", "Octavia"
	HostID      string
	DNSName     string
}

// Address is an address of a device, as Nova lists them. Floating tells a
// floating IP.
type Address struct {
	NetworkName string
	IP          string
	Version     int // 4 or 6
	MAC         string
	Floating    bool
	PortID      string
}

// Allocate makes a port. Errors are api errors with Neutron's kinds:
// NetworkNotFound, OverQuota, IpAddressGenerationFailure, InvalidIpForSubnet,
// IpAddressAlreadyAllocated, MacAddressInUse, SecurityGroupNotFound.
func (n *Core) Allocate(tx *store.Tx, p *api.Principal, spec PortSpec) (model.Port, error) {
	return n.allocate(tx, p, spec)
}

// Bind gives an existing port to a device. The error is PortNotFound, or
// PortInUse when another device has it.
func (n *Core) Bind(tx *store.Tx, portID string, b Binding) (model.Port, error) {
	return n.bind(tx, portID, b)
}

// Unbind takes a port from its device; the port stays, with status DOWN. A
// port that is gone is no error.
func (n *Core) Unbind(tx *store.Tx, portID string) { n.unbind(tx, portID) }

// Release deletes a port; its floating IPs stay without port. A port that is
// gone is no error. PortInUse is told of a trunk's.
func (n *Core) Release(tx *store.Tx, portID string) error { return n.release(tx, portID) }

// SetActive sets the status of a bound port, ACTIVE or DOWN, such as when its
// server is shut off or the card of its machine is plugged.
func (n *Core) SetActive(tx *store.Tx, portID string, active bool) { n.setActive(tx, portID, active) }

// Port returns a port that the caller may see; the error is PortNotFound. A
// nil principal sees everything.
func (n *Core) Port(r store.Reader, p *api.Principal, id string) (model.Port, error) {
	return n.ports().find(r, p, id)
}

// PortsOf returns the ports of a device, oldest first.
func (n *Core) PortsOf(r store.Reader, deviceID string) []model.Port { return n.portsOf(r, deviceID) }

// Network returns a network that the caller may see; the error is
// NetworkNotFound.
func (n *Core) Network(r store.Reader, p *api.Principal, id string) (model.Network, error) {
	return n.networks().find(r, p, id)
}

// Available returns the networks on which a server of the project can be put
// without saying which: its own and those shared with it that have a subnet;
// external ones only if they are shared.
func (n *Core) Available(r store.Reader, projectID string) []model.Network {
	return n.available(r, projectID)
}

// Subnet returns a subnet that the caller may see; the error is
// SubnetNotFound.
func (n *Core) Subnet(r store.Reader, p *api.Principal, id string) (model.Subnet, error) {
	return n.subnets().find(r, p, id)
}

// SubnetsOf returns the subnets of a network, oldest first.
func (n *Core) SubnetsOf(r store.Reader, networkID string) []model.Subnet {
	return n.subnetsOf(r, networkID)
}

// SecurityGroup finds a group of the project by id or name; errors are
// SecurityGroupNotFound, and Conflict when the name is not unique. "default"
// is made if need be.
func (n *Core) SecurityGroup(tx *store.Tx, projectID, idOrName string) (model.SecurityGroup, error) {
	return n.groupByName(tx, projectID, idOrName)
}

// SetGroups replaces the security groups of a port.
func (n *Core) SetGroups(tx *store.Tx, portID string, groupIDs []string) error {
	return n.setGroups(tx, portID, groupIDs)
}

// Addresses returns the fixed and floating addresses of a device, by port.
func (n *Core) Addresses(r store.Reader, deviceID string) []Address {
	return n.addresses(r, deviceID)
}

// FloatingIP finds a floating IP of the project by its address; the error is
// FloatingIPNotFound.
func (n *Core) FloatingIP(r store.Reader, projectID, address string) (model.FloatingIP, error) {
	return n.floatingByAddress(r, projectID, address)
}

// Associate lets a floating IP lead to a port; an empty fixed address is the
// port's only one of IPv4. Errors are FloatingIPNotFound, PortNotFound,
// ExternalGatewayForFloatingIPNotFound, FloatingIPPortAlreadyAssociated.
func (n *Core) Associate(tx *store.Tx, p *api.Principal, floatingID, portID, fixed string) error {
	return n.associateByID(tx, p, floatingID, portID, fixed)
}

// Disassociate takes the port from a floating IP.
func (n *Core) Disassociate(tx *store.Tx, floatingID string) { n.disassociateByID(tx, floatingID) }

// Card returns what a driver needs to plug a port.
func (n *Core) Card(r store.Reader, portID string) (machine.Port, bool) { return n.card(r, portID) }

// UsesQuota reports the limit of one of the network service's quotas and how
// much of it the project uses ("port", "floatingip", "security_group").
func (n *Core) UsesQuota(r store.Reader, projectID, resource string) (limit, used int) {
	return n.quotas.Limits(r, projectID)[resource], n.used(r, projectID, resource)
}
