package site

import (
	"context"
	"net/netip"

	"github.com/slipway-sh/slipway/internal/sandbox/fabric"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/metadata"
)

// ApplyNetwork makes the network and serves metadata in it.
func (s *Site) ApplyNetwork(ctx context.Context, n machine.Network) error {
	if err := s.Net.ApplyNetwork(ctx, n); err != nil {
		return err
	}
	if s.metadata.Serves(n.ID) {
		return nil
	}
	l, err := s.Net.Listen(ctx, n.ID, "tcp", fabric.MetadataAddress+":80")
	if err != nil {
		return err
	}
	s.metadata.Serve(n.ID, l)
	return nil
}

// DeleteNetwork removes the network and its metadata service, whose socket
// would keep the namespace.
func (s *Site) DeleteNetwork(ctx context.Context, id string) error {
	s.metadata.End(id)
	return s.Net.DeleteNetwork(ctx, id)
}

// Sweep removes what an earlier process left and is not to be kept.
func (s *Site) Sweep(ctx context.Context, networks, routers map[string]bool) error {
	return s.Net.Sweep(ctx, networks, routers)
}

// ApplyRouter makes the router.
func (s *Site) ApplyRouter(ctx context.Context, r machine.Router) error {
	return s.Net.ApplyRouter(ctx, r)
}

// DeleteRouter removes the router.
func (s *Site) DeleteRouter(ctx context.Context, id string) error {
	return s.Net.DeleteRouter(ctx, id)
}

// ApplyFilter sets what a port lets through.
func (s *Site) ApplyFilter(ctx context.Context, f machine.Filter) error {
	return s.Net.ApplyFilter(ctx, f)
}

// DeleteFilter forgets what a port lets through.
func (s *Site) DeleteFilter(ctx context.Context, portID string) error {
	return s.Net.DeleteFilter(ctx, portID)
}

func where(networkID string, a netip.Addr) string { return networkID + " " + a.String() }

// Note remembers, for the metadata service, where a machine is, and how to ask who it
// is.
func (s *Site) Note(id string, ports []machine.Port, ask func() (metadata.Instance, bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range ports {
		for _, a := range p.Addresses {
			s.machines[where(p.NetworkID, a.Prefix.Addr())] = resident{id, ask}
		}
	}
}

// Forget removes the addresses of a machine.
func (s *Site) Forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, r := range s.machines {
		if r.id == id {
			delete(s.machines, at)
		}
	}
}

// instanceAt returns the machine that has an address in a network.
func (s *Site) instanceAt(networkID string, a netip.Addr) (metadata.Instance, bool) {
	s.mu.Lock()
	r, ok := s.machines[where(networkID, a)]
	s.mu.Unlock()
	if !ok {
		return metadata.Instance{}, false
	}
	return r.ask()
}
