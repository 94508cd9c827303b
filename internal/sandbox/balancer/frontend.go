package balancer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/namespace"
)

// connectTime is Octavia's default of timeout_member_connect.
const connectTime = 5 * time.Second

// frontend takes the connections or datagrams of one listener.
type frontend struct {
	space, place string
	pool         atomic.Pointer[pool]
	ctx          context.Context
	cancel       context.CancelFunc
	active       atomic.Int64
	keeper       *keeper // nil for one whose members do not see clients

	mu      sync.Mutex
	closers map[io.Closer]bool
	done    sync.WaitGroup
}

// place returns, as a text, the settings of a listener that change only when it is opened again.
func place(l machine.Listener, vip machine.Port) string {
	text := fmt.Sprint(l.Protocol, l.Port)
	for _, a := range vip.Addresses {
		text += " " + a.Prefix.Addr().String()
	}
	return text
}

// open listens on all addresses of the VIP.
func open(space string, l machine.Listener, vip machine.Port, k *keeper) (*frontend, error) {
	f := &frontend{space: space, keeper: k, place: place(l, vip), closers: map[io.Closer]bool{}}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	f.pool.Store(&pool{})
	var err error
	for _, a := range vip.Addresses {
		at := netip.AddrPortFrom(a.Prefix.Addr(), uint16(l.Port)).String()
		switch l.Protocol {
		case "TCP", "HTTP", "HTTPS", "PROMETHEUS":
			err = errors.Join(err, f.listen(at))
		case "UDP":
			err = errors.Join(err, f.listenUDP(at))
		default:
			err = fmt.Errorf("protocol %s cannot be balanced here", l.Protocol)
		}
	}
	if err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

func (f *frontend) listen(at string) error {
	var l net.Listener
	err := namespace.Do(f.space, func() (err error) {
		l, err = net.Listen("tcp", at)
		return err
	})
	if err != nil || !f.own(l) {
		return err
	}
	f.done.Go(func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil { // too many open files: others will end
				time.Sleep(10 * time.Millisecond)
				continue
			}
			f.done.Go(func() { f.serve(c.(*net.TCPConn)) })
		}
	})
	return nil
}

// own makes close end c too; it returns false, and closes c, when the frontend is closed already.
func (f *frontend) own(c io.Closer) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ctx.Err() != nil {
		c.Close()
		return false
	}
	f.closers[c] = true
	return true
}

func (f *frontend) release(c io.Closer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.closers, c)
	c.Close()
}

func (f *frontend) close() {
	f.mu.Lock()
	f.cancel()
	for c := range f.closers {
		c.Close()
	}
	f.mu.Unlock()
	f.done.Wait()
	f.pool.Load().stop()
}

// apply changes what a listener does with new connections.
func (f *frontend) apply(l machine.Listener) {
	old := f.pool.Load()
	if old.same(l) {
		return
	}
	f.pool.Store(newPool(f.space, l, old, f.keeper))
	old.stop()
}

// allowed follows Octavia: an empty list lets everybody in.
func (p *pool) allowed(from netip.Addr) bool {
	return len(p.AllowedCIDRs) == 0 ||
		slices.ContainsFunc(p.AllowedCIDRs, func(n netip.Prefix) bool { return n.Contains(from) })
}

func (f *frontend) serve(client *net.TCPConn) {
	defer f.release(client)
	if !f.own(client) {
		return
	}
	p := f.pool.Load()
	from := client.RemoteAddr().(*net.TCPAddr).AddrPort()
	from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
	defer f.active.Add(-1)
	if n := f.active.Add(1); !p.allowed(from.Addr()) || p.ConnectionLimit > 0 && n > int64(p.ConnectionLimit) {
		_ = client.SetLinger(0) // a reset, as from a closed port
		return
	}
	m, server := f.connect(p, from)
	if server == nil {
		return
	}
	defer f.release(server)
	defer m.active.Add(-1)
	if !f.own(server) {
		return
	}
	if header := proxyHeader(p.MemberProtocol, from, local(client)); header != nil {
		if _, err := server.Write(header); err != nil {
			return
		}
	}
	defer endIdle(p.Idle, client, server)()
	join(client, server)
}

func local(c net.Conn) netip.AddrPort {
	a := c.LocalAddr().(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

// connect tries members until one answers; the member counts the connection.
func (f *frontend) connect(p *pool, from netip.AddrPort) (*member, *net.TCPConn) {
	tried := map[*member]bool{}
	for f.ctx.Err() == nil {
		m := p.pick(from, tried)
		if m == nil {
			return nil, nil
		}
		tried[m] = true
		m.active.Add(1)
		c, err := dial(f.ctx, f.space, "tcp", m.Address.String(), connectTime)
		if err == nil {
			return m, c.(*net.TCPConn)
		}
		m.active.Add(-1)
	}
	return nil, nil
}

func dial(ctx context.Context, space, network, address string, limit time.Duration) (net.Conn, error) {
	var c net.Conn
	err := namespace.Do(space, func() (err error) {
		c, err = (&net.Dialer{Timeout: limit}).DialContext(ctx, network, address)
		return err
	})
	return c, err
}

// join copies both ways until both sides have ended, or one has broken.
func join(a, b *net.TCPConn) {
	var both sync.WaitGroup
	for _, way := range [][2]*net.TCPConn{{a, b}, {b, a}} {
		both.Go(func() {
			if _, err := io.Copy(way[0], way[1]); err != nil {
				way[0].Close()
				way[1].Close()
				return
			}
			_ = way[0].CloseWrite()
		})
	}
	both.Wait()
}
