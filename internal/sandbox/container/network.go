package container

import (
	"context"
	"net/netip"

	"github.com/slipway-sh/slipway/internal/sandbox/fabric"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/metadata"
)

// ApplyNetwork makes the network and serves metadata in it.
func (d *Driver) ApplyNetwork(ctx context.Context, n machine.Network) error {
	if err := d.fabric.ApplyNetwork(ctx, n); err != nil {
		return err
	}
	if d.metadata.Serves(n.ID) {
		return nil
	}
	l, err := d.fabric.Listen(ctx, n.ID, "tcp", fabric.MetadataAddress+":80")
	if err != nil {
		return err
	}
	d.metadata.Serve(n.ID, l)
	return nil
}

// DeleteNetwork removes the network and its metadata service, whose socket
// would keep the namespace.
func (d *Driver) DeleteNetwork(ctx context.Context, id string) error {
	d.metadata.End(id)
	return d.fabric.DeleteNetwork(ctx, id)
}

// Sweep removes what an earlier process left and is not to be kept.
func (d *Driver) Sweep(ctx context.Context, networks, routers map[string]bool) error {
	return d.fabric.Sweep(ctx, networks, routers)
}

// ApplyRouter makes the router.
func (d *Driver) ApplyRouter(ctx context.Context, r machine.Router) error {
	return d.fabric.ApplyRouter(ctx, r)
}

// DeleteRouter removes the router.
func (d *Driver) DeleteRouter(ctx context.Context, id string) error {
	return d.fabric.DeleteRouter(ctx, id)
}

// ApplyFilter sets what a port lets through.
func (d *Driver) ApplyFilter(ctx context.Context, f machine.Filter) error {
	return d.fabric.ApplyFilter(ctx, f)
}

// DeleteFilter forgets what a port lets through.
func (d *Driver) DeleteFilter(ctx context.Context, portID string) error {
	return d.fabric.DeleteFilter(ctx, portID)
}

func where(networkID string, a netip.Addr) string { return networkID + " " + a.String() }

// note remembers, for the metadata service, where a machine is.
func (d *Driver) note(s *server) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, n := range s.NICs {
		for _, a := range n.Port.Addresses {
			d.addresses[where(n.Port.NetworkID, a.Prefix.Addr())] = s.Spec.ID
		}
	}
}

func (d *Driver) forget(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for at, server := range d.addresses {
		if server == id {
			delete(d.addresses, at)
		}
	}
}

// instanceAt returns the machine that has an address in a network.
func (d *Driver) instanceAt(networkID string, a netip.Addr) (metadata.Instance, bool) {
	d.mu.Lock()
	id, ok := d.addresses[where(networkID, a)]
	d.mu.Unlock()
	if !ok {
		return metadata.Instance{}, false
	}
	s, err := d.load(id)
	if err != nil {
		return metadata.Instance{}, false
	}
	return s.instance(), true
}
