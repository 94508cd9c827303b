package balancer_test

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/balancer"
	"github.com/slipway-sh/slipway/internal/sandbox/fabric"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/namespace"
)

// world is a network with a client, two members and load balancers.
type world struct {
	*testing.T
	*balancer.Balancers
	dir, client string
	fabric      *fabric.Fabric
	sick        atomic.Bool // member one answers its check with 503
}

func newWorld(t *testing.T) *world {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	dir := t.TempDir()
	host := filepath.Join(dir, "host")
	w := &world{T: t, dir: dir}
	w.must(namespace.Create(host))
	t.Cleanup(func() { _ = namespace.Delete(host) })
	spaces := filepath.Join(dir, "spaces")
	w.fabric = fabric.New(fabric.Options{Dir: spaces, Tag: "test", Host: host})
	w.Balancers = balancer.New(w.fabric, spaces)
	t.Cleanup(func() {
		w.must(w.Shutdown())
		w.must(w.fabric.Shutdown(t.Context()))
		if left, _ := os.ReadDir(spaces); len(left) > 0 {
			t.Errorf("namespaces left: %v", left)
		}
	})
	w.must(w.fabric.ApplyNetwork(t.Context(), machine.Network{ID: "net", MTU: 1500,
		Subnets: []machine.Subnet{{Prefix: netip.MustParsePrefix("10.0.0.0/24")}}}))
	w.client = w.guest(5, false)
	w.guest(11, true)
	w.guest(12, true)
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func port(n int) machine.Port {
	return machine.Port{ID: fmt.Sprintf("%08d-000", n), NetworkID: "net", MTU: 1500, MAC: fmt.Sprintf("fa:16:3e:00:00:%02x", n),
		Addresses: []machine.Address{{Prefix: netip.MustParsePrefix(fmt.Sprintf("10.0.0.%d/24", n))}}}
}

// guest is a machine with a number. Members say their number and what they
// were sent: by TCP on 80, by UDP on 53; 8080 is for checks.
func (w *world) guest(n int, serves bool) string {
	space := filepath.Join(w.dir, fmt.Sprint("guest", n))
	w.must(namespace.Create(space))
	w.Cleanup(func() { _ = namespace.Delete(space) })
	w.must(w.fabric.Plug(w.Context(), fabric.Plug{Space: space, Name: "eth0", Port: port(n), Wait: true}))
	if !serves {
		return space
	}
	var echo, health net.Listener
	var datagrams net.PacketConn
	w.must(namespace.Do(space, func() (err error) {
		if echo, err = net.Listen("tcp", ":80"); err != nil {
			return err
		}
		if health, err = net.Listen("tcp", ":8080"); err != nil {
			return err
		}
		datagrams, err = net.ListenPacket("udp", ":53")
		return err
	}))
	w.Cleanup(func() { echo.Close(); health.Close(); datagrams.Close() })
	go func() {
		for c, err := echo.Accept(); err == nil; c, err = echo.Accept() {
			go func() {
				defer c.Close()
				sent, _ := io.ReadAll(c)
				fmt.Fprintf(c, "%d %s", n, sent)
			}()
		}
	}()
	go func() {
		b := make([]byte, 1500)
		for size, from, err := datagrams.ReadFrom(b); err == nil; size, from, err = datagrams.ReadFrom(b) {
			_, _ = datagrams.WriteTo(fmt.Appendf(nil, "%d %s", n, b[:size]), from)
		}
	}()
	go func() {
		_ = http.Serve(health, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if n == 11 && w.sick.Load() || r.URL.Path != "/healthz" {
				rw.WriteHeader(http.StatusServiceUnavailable)
			}
		}))
	}()
	return space
}

func (w *world) dial(network, to string) net.Conn {
	var c net.Conn
	_ = namespace.Do(w.client, func() (err error) {
		c, err = (&net.Dialer{Timeout: time.Second}).Dial(network, to)
		return err
	})
	if c != nil {
		_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	}
	return c
}

// ask says something to the VIP and returns what is answered.
func (w *world) ask(text string) string {
	c := w.dial("tcp", "10.0.0.100:6443")
	if c == nil {
		return ""
	}
	defer c.Close()
	fmt.Fprint(c, text)
	_ = c.(*net.TCPConn).CloseWrite()
	answer, _ := io.ReadAll(c)
	return string(answer)
}

// count asks n times and counts the members that answer.
func (w *world) count(n int) map[string]int {
	by := map[string]int{}
	for range n {
		who, _, _ := strings.Cut(w.ask("hello"), " ")
		by[who]++
	}
	return by
}

func listener() machine.Listener {
	member := func(n int) machine.Member {
		return machine.Member{ID: fmt.Sprint("m", n), Address: netip.MustParseAddrPort(fmt.Sprintf("10.0.0.%d:80", n)), Weight: 1}
	}
	return machine.Listener{ID: "l", Protocol: "TCP", Port: 6443, Algorithm: "ROUND_ROBIN", Members: []machine.Member{member(11), member(12)}}
}

func (w *world) apply(change func(l *machine.Listener)) {
	w.Helper()
	l := listener()
	change(&l)
	w.must(w.ApplyBalancer(w.Context(), machine.Balancer{ID: "lb", VIP: port(100), Listeners: []machine.Listener{l}}))
}

func TestBalance(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	each := func(what string, want map[string]int, change func(l *machine.Listener)) {
		t.Helper()
		w.apply(change)
		if got := w.count(6); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	each("round robin", map[string]int{"11": 3, "12": 3}, func(*machine.Listener) {})
	each("by weight", map[string]int{"11": 4, "12": 2}, func(l *machine.Listener) { l.Members[0].Weight = 2 })
	each("weight 0", map[string]int{"12": 6}, func(l *machine.Listener) { l.Members[0].Weight = 0 })
	each("a backup", map[string]int{"11": 6}, func(l *machine.Listener) { l.Members[1].Backup = true })
	each("a member that does not answer", map[string]int{"12": 6}, func(l *machine.Listener) {
		l.Members[0].Address = netip.MustParseAddrPort("10.0.0.11:81")
	})
	each("nobody", map[string]int{"": 6}, func(l *machine.Listener) { l.Members = nil })
	each("not allowed", map[string]int{"": 6}, func(l *machine.Listener) {
		l.AllowedCIDRs = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	})
	each("allowed", map[string]int{"11": 3, "12": 3}, func(l *machine.Listener) {
		l.AllowedCIDRs = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("10.0.0.5/32")}
	})
	w.apply(func(l *machine.Listener) { l.Algorithm = "SOURCE_IP" })
	if got := w.count(6); len(got) != 1 || got[""] > 0 {
		t.Errorf("by source: %v, want one member", got)
	}
	w.apply(func(l *machine.Listener) { l.Algorithm = "LEAST_CONNECTIONS" })
	one, two := w.dial("tcp", "10.0.0.100:6443"), w.dial("tcp", "10.0.0.100:6443")
	time.Sleep(50 * time.Millisecond) // both are with their members
	got := map[string]bool{}
	for _, c := range []net.Conn{one, two} {
		_ = c.(*net.TCPConn).CloseWrite()
		answer, _ := io.ReadAll(c)
		got[string(answer)] = true
	}
	if len(got) != 2 {
		t.Errorf("least connections: both are with %v", got)
	}
	w.must(w.DeleteBalancer(t.Context(), "lb"))
	w.must(w.DeleteBalancer(t.Context(), "lb"))
	if answer := w.ask("hello"); answer != "" {
		t.Errorf("after the end: %q", answer)
	}
}

// TestIdleConnectionsEnd: those without data, and only those.
func TestIdleConnectionsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(func(l *machine.Listener) { l.Idle = 400 * time.Millisecond })
	busy, idle := w.dial("tcp", "10.0.0.100:6443"), w.dial("tcp", "10.0.0.100:6443")
	begun := time.Now()
	ended := make(chan time.Duration)
	go func() {
		_, _ = io.ReadAll(idle)
		ended <- time.Since(begun)
	}()
	for range 16 {
		fmt.Fprint(busy, "x")
		time.Sleep(50 * time.Millisecond)
	}
	_ = busy.(*net.TCPConn).CloseWrite()
	if answer, err := io.ReadAll(busy); err != nil || !strings.HasSuffix(string(answer), strings.Repeat("x", 16)) {
		t.Errorf("a connection with data was answered %q, %v", answer, err)
	}
	if took := <-ended; took < 400*time.Millisecond || took > 1900*time.Millisecond {
		t.Errorf("a connection without data ended after %s", took)
	}
	w.apply(func(*machine.Listener) {})
	forever := w.dial("tcp", "10.0.0.100:6443")
	time.Sleep(600 * time.Millisecond)
	_ = forever.(*net.TCPConn).CloseWrite()
	if answer, err := io.ReadAll(forever); err != nil || len(answer) == 0 {
		t.Errorf("a connection without a limit was answered %q, %v", answer, err)
	}
}

func TestProxyProtocol(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(func(l *machine.Listener) { l.MemberProtocol = "PROXY" })
	if got := w.ask("hello"); !strings.Contains(got, "PROXY TCP4 10.0.0.5 10.0.0.100 ") || !strings.HasSuffix(got, " 6443\r\nhello") {
		t.Errorf("version 1: %q", got)
	}
	w.apply(func(l *machine.Listener) { l.MemberProtocol = "PROXYV2" })
	if got := w.ask("hello"); !strings.Contains(got, "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\x0a\x00\x00\x05\x0a\x00\x00\x64") ||
		!strings.HasSuffix(got, "\x19\x2bhello") {
		t.Errorf("version 2: %q", got)
	}
}

func TestUDP(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(func(l *machine.Listener) {
		l.Protocol = "UDP"
		for i := range l.Members {
			l.Members[i].Address = netip.AddrPortFrom(l.Members[i].Address.Addr(), 53)
		}
	})
	seen := map[string]bool{}
	for range 4 {
		c := w.dial("udp", "10.0.0.100:6443")
		for range 2 {
			fmt.Fprint(c, "hello")
			b := make([]byte, 100)
			n, err := c.Read(b)
			w.must(err)
			seen[string(b[:n])] = true
		}
		c.Close()
	}
	if !maps.Equal(seen, map[string]bool{"11 hello": true, "12 hello": true}) {
		t.Errorf("answers: %v", seen)
	}
}

func TestChecks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	check := machine.Check{Type: "HTTP", Path: "/healthz", Delay: 1, Timeout: 1, MaxRetries: 1, MaxRetryDn: 1}
	with := func(c machine.Check) {
		w.apply(func(l *machine.Listener) {
			l.Check = &c
			for i := range l.Members {
				l.Members[i].Monitor.Port = 8080
			}
		})
	}
	wait := func(what string, want map[string]bool) {
		t.Helper()
		var got map[string]bool
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			var err error
			got, err = w.MemberHealth(t.Context(), "lb")
			w.must(err)
			if maps.Equal(got, want) {
				return
			}
		}
		t.Errorf("%s: %v, want %v", what, got, want)
	}
	good := map[string]bool{"m11": true, "m12": true}
	with(check)
	wait("at first", good)
	w.sick.Store(true)
	wait("one is sick", map[string]bool{"m11": false, "m12": true})
	if got := w.count(4); got["12"] != 4 {
		t.Errorf("a sick member is asked: %v", got)
	}
	w.sick.Store(false)
	wait("well again", good)
	for name, c := range map[string]machine.Check{
		"other codes": {Type: "HTTP", Path: "/other", Codes: "200,500-503", Delay: 1, Timeout: 1, MaxRetries: 1, MaxRetryDn: 1},
		"TCP":         {Type: "TCP", Delay: 1, Timeout: 1, MaxRetries: 1, MaxRetryDn: 1},
		"PING":        {Type: "PING", Delay: 1, Timeout: 1, MaxRetries: 1, MaxRetryDn: 1},
	} {
		with(check)
		wait("before "+name, good)
		with(c)
		time.Sleep(100 * time.Millisecond)
		wait(name, good)
	}
	with(machine.Check{Type: "TLS-HELLO", Delay: 1, Timeout: 1, MaxRetries: 1, MaxRetryDn: 1})
	wait("no TLS", map[string]bool{"m11": false, "m12": false})
}

func TestUnknownProtocol(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := listener()
	l.Protocol = "TERMINATED_HTTPS"
	if err := w.ApplyBalancer(t.Context(), machine.Balancer{ID: "lb", VIP: port(100), Listeners: []machine.Listener{l}}); err == nil {
		t.Error("a protocol that is not balanced is accepted")
	}
}
