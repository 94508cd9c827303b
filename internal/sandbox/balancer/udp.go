package balancer

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/namespace"
)

// udpIdle is how long a client that sends nothing keeps its member.
const udpIdle = 60 * time.Second

// udp is one address on which a listener takes datagrams.
type udp struct {
	*frontend
	socket *net.UDPConn
	mu     sync.Mutex
	flows  map[netip.AddrPort]net.Conn
}

func (f *frontend) listenUDP(at string) error {
	u := &udp{frontend: f, flows: map[netip.AddrPort]net.Conn{}}
	err := namespace.Do(f.space, func() error {
		c, err := net.ListenPacket("udp", at)
		if err == nil {
			u.socket = c.(*net.UDPConn)
		}
		return err
	})
	if err != nil || !f.own(u.socket) {
		return err
	}
	f.done.Go(u.run)
	return nil
}

func (u *udp) run() {
	for packet := make([]byte, 1<<16); u.ctx.Err() == nil; {
		n, from, err := u.socket.ReadFromUDPAddrPort(packet)
		if err != nil {
			continue // closed, or an ICMP error of a client
		}
		if member := u.flow(from); member != nil {
			_ = member.SetReadDeadline(time.Now().Add(udpIdle))
			_, _ = member.Write(packet[:n])
		}
	}
}

// flow returns the connection to the member that a client has.
func (u *udp) flow(from netip.AddrPort) net.Conn {
	u.mu.Lock()
	defer u.mu.Unlock()
	if c := u.flows[from]; c != nil {
		return c
	}
	p := u.pool.Load()
	client := netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
	m := p.pick(client, nil)
	if m == nil || !p.allowed(client.Addr()) {
		return nil
	}
	c, err := dial(u.ctx, u.space, "udp", m.Address.String(), connectTime)
	if err != nil || !u.own(c) {
		return nil
	}
	m.active.Add(1)
	u.flows[from] = c
	_ = c.SetReadDeadline(time.Now().Add(udpIdle))
	u.done.Go(func() {
		defer m.active.Add(-1)
		u.answer(from, c)
	})
	return c
}

func (u *udp) answer(to netip.AddrPort, member net.Conn) {
	for packet := make([]byte, 1<<16); ; {
		n, err := member.Read(packet)
		if err != nil {
			break
		}
		_, _ = u.socket.WriteToUDPAddrPort(packet[:n], to)
	}
	u.mu.Lock()
	delete(u.flows, to)
	u.mu.Unlock()
	u.release(member)
}
