package kubernetes

import (
	"context"
	"net"
)

// Way is how Kubernetes APIs are reached: through a machine, or directly.
type Way interface {
	// Host is the address of the machine; empty for the direct way.
	Host() string
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
	// Forward returns an address of this computer that leads to one of the machine's
	// network until ctx ends.
	Forward(ctx context.Context, address string) (net.Addr, error)
	Close() error
}

// Direct is the way of this computer's own network.
type Direct struct{}

// Host implements Way.
func (Direct) Host() string { return "" }

// DialContext implements Way.
func (Direct) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

// Forward implements Way: the address leads there already.
func (Direct) Forward(_ context.Context, address string) (net.Addr, error) {
	return plain(address), nil
}

// Close implements Way.
func (Direct) Close() error { return nil }

// plain is an address whose host may be a name.
type plain string

// Network implements net.Addr.
func (plain) Network() string { return "tcp" }

func (a plain) String() string { return string(a) }

// reach returns the way to the clusters of an environment: through its seed, which may still
// boot, or directly if its seed is a local one.
func (l Login) reach(ctx context.Context) (Way, error) {
	if l.Local != "" {
		return Direct{}, nil
	}
	m, err := l.open(ctx)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// reachNow is reach without waiting for a booting seed.
func (l Login) reachNow(ctx context.Context) (Way, error) {
	if l.Local != "" {
		return Direct{}, nil
	}
	m, err := l.openNow(ctx)
	if err != nil {
		return nil, err
	}
	return m, nil
}
