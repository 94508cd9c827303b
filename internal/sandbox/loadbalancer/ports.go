package loadbalancer

import (
	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/network"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// PortOwner is the device owner of a VIP's port. The name of a port that was
// made for a load balancer is PortPrefix with its id.
const (
	PortOwner  = "Octavia"
	PortPrefix = "octavia-lb-"
)

// Ports is what load balancing needs of networking; *network.Core has it. All
// of it works inside the caller's transaction.
type Ports interface {
	Allocate(tx *store.Tx, p *api.Principal, spec network.PortSpec) (model.Port, error)
	Bind(tx *store.Tx, portID string, b network.Binding) (model.Port, error)
	Unbind(tx *store.Tx, portID string)
	Release(tx *store.Tx, portID string) error
	Port(r store.Reader, p *api.Principal, id string) (model.Port, error)
	Network(r store.Reader, p *api.Principal, id string) (model.Network, error)
	Subnet(r store.Reader, p *api.Principal, id string) (model.Subnet, error)
	SubnetsOf(r store.Reader, networkID string) []model.Subnet
	Card(r store.Reader, portID string) (machine.Port, bool)
}

func binding(id string) network.Binding {
	return network.Binding{DeviceID: "lb-" + id, DeviceOwner: PortOwner}
}
