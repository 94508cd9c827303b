package machine

import "context"

// AttachPort does nothing.
func (n *None) AttachPort(context.Context, string, Port) error { return nil }

// DetachPort does nothing.
func (n *None) DetachPort(context.Context, string, string) error { return nil }

// ApplyNetwork does nothing.
func (n *None) ApplyNetwork(context.Context, Network) error { return nil }

// DeleteNetwork does nothing.
func (n *None) DeleteNetwork(context.Context, string) error { return nil }

// ApplyRouter does nothing.
func (n *None) ApplyRouter(context.Context, Router) error { return nil }

// DeleteRouter does nothing.
func (n *None) DeleteRouter(context.Context, string) error { return nil }

// ApplyFilter does nothing.
func (n *None) ApplyFilter(context.Context, Filter) error { return nil }

// DeleteFilter does nothing.
func (n *None) DeleteFilter(context.Context, string) error { return nil }

// CreateVolume does nothing.
func (n *None) CreateVolume(context.Context, Volume) error { return nil }

// ExtendVolume does nothing.
func (n *None) ExtendVolume(context.Context, string, int) error { return nil }

// DeleteVolume does nothing.
func (n *None) DeleteVolume(context.Context, string) error { return nil }

// CreateSnapshot does nothing.
func (n *None) CreateSnapshot(context.Context, string, string) error { return nil }

// DeleteSnapshot does nothing.
func (n *None) DeleteSnapshot(context.Context, string) error { return nil }

// ApplyBalancer does nothing.
func (n *None) ApplyBalancer(context.Context, Balancer) error { return nil }

// DeleteBalancer does nothing.
func (n *None) DeleteBalancer(context.Context, string) error { return nil }

// MemberHealth knows of no member.
func (n *None) MemberHealth(context.Context, string) (map[string]bool, error) { return nil, nil }
