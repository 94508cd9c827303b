package sandbox

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// openDoor listens where machines can reach the APIs: at the host's address in the external
// network, which for machines is outside, like the Internet. Only this host and its machines have a
// route to it. Without machines there is no such network.
func (c *Cloud) openDoor(ctx context.Context) (err error) {
	if c.options.Host.Name() == DriverNone {
		return nil
	}
	gateway, ok := c.externalGateway()
	if !ok {
		return nil
	}
	_, port, err := net.SplitHostPort(c.listener.Addr().String())
	if err != nil {
		return err
	}
	// The driver gives the address to the host later, when it makes the network.
	early := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var set error
		err := raw.Control(func(fd uintptr) { set = unix.SetsockoptInt(int(fd), unix.SOL_IP, unix.IP_FREEBIND, 1) })
		if err != nil {
			return err
		}
		return set
	}}
	c.door, err = early.Listen(ctx, "tcp4", net.JoinHostPort(gateway.String(), port))
	if err != nil {
		return fmt.Errorf("listening for machines at %s port %s: %w", gateway, port, err)
	}
	return nil
}

// externalGateway returns the host's address in the first external network.
func (c *Cloud) externalGateway() (found netip.Addr, ok bool) {
	networking := &c.Env.Model.Network
	_ = c.Env.Store.View(func(r store.Reader) error {
		for network := range networking.Networks.All(r) {
			if !network.External {
				continue
			}
			for subnet := range networking.SubnetsOfNetwork.Each(r, network.ID) {
				if subnet.Gateway == nil {
					continue
				}
				if a, err := netip.ParseAddr(*subnet.Gateway); err == nil && a.Is4() && !ok {
					found, ok = a, true
				}
			}
		}
		return nil
	})
	return found, ok
}

// URL returns the address at which clients and machines find the cloud, without a slash at the end.
func (c *Cloud) URL() string {
	if c.door != nil {
		return "http://" + c.door.Addr().String()
	}
	return c.ControlURL()
}

// ControlURL returns the address at which the command line finds the cloud, from the first moment
// on.
func (c *Cloud) ControlURL() string { return "http://" + c.listener.Addr().String() }
