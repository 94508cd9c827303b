package balancer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
)

// watch checks a member until the context ends. The first result counts at once; later, as many
// equal results in a row as the check says are needed.
func watch(ctx context.Context, space string, m *member, c machine.Check, k *keeper) {
	tick := time.NewTicker(time.Duration(max(1, c.Delay)) * time.Second)
	defer tick.Stop()
	row := 0
	for {
		err := check(ctx, space, target(m.Member), c)
		if ctx.Err() != nil {
			return
		}
		result, need := int32(1), c.MaxRetries
		if err != nil {
			result, need = -1, c.MaxRetryDn
		}
		switch before := m.health.Load(); {
		case before == result:
			row = 0
		case before == 0 || row+1 >= need:
			m.health.Store(result)
			k.changed()
			row = 0
		default:
			row++
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func target(m machine.Member) string {
	addr, port := m.Address.Addr(), m.Address.Port()
	if m.Monitor.Addr.IsValid() {
		addr = m.Monitor.Addr
	}
	if m.Monitor.Port > 0 {
		port = uint16(m.Monitor.Port)
	}
	return netip.AddrPortFrom(addr, port).String()
}

func check(ctx context.Context, space, address string, c machine.Check) error {
	limit := time.Duration(max(1, c.Timeout)) * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	switch c.Type {
	case "HTTP":
		return checkHTTP(ctx, space, "http://"+address, c)
	case "HTTPS":
		return checkHTTP(ctx, space, "https://"+address, c)
	case "PING":
		return ping(ctx, space, address, limit)
	case "UDP-CONNECT":
		return checkUDP(ctx, space, address, limit)
	}
	conn, err := dial(ctx, space, "tcp", address, limit)
	if err != nil {
		return err
	}
	defer conn.Close()
	if c.Type == "TLS-HELLO" {
		return tls.Client(conn, unverified()).HandshakeContext(ctx)
	}
	return nil
}

// unverified accepts any certificate, as Octavia does: it checks that members answer, not who they
// are.
func unverified() *tls.Config { return &tls.Config{InsecureSkipVerify: true} } //nolint:gosec // see above

func checkHTTP(ctx context.Context, space, url string, c machine.Check) error {
	client := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: unverified(),
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				return dial(ctx, space, network, address, connectTime)
			}},
	}
	method, path := c.Method, c.Path
	if method == "" {
		method = http.MethodGet
	}
	if path == "" {
		path = "/"
	}
	request, err := http.NewRequestWithContext(ctx, method, url+path, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, 1<<16)
	if !expected(c.Codes, response.StatusCode) {
		return fmt.Errorf("status %d", response.StatusCode)
	}
	return nil
}

// expected reads Octavia's expected_codes: "200", "200,202" or "200-204".
func expected(codes string, got int) bool {
	if codes == "" {
		return got == http.StatusOK
	}
	for part := range strings.SplitSeq(codes, ",") {
		low, high, span := strings.Cut(strings.TrimSpace(part), "-")
		from, err := strconv.Atoi(low)
		to := from
		if span && err == nil {
			to, err = strconv.Atoi(high)
		}
		if err == nil && from <= got && got <= to {
			return true
		}
	}
	return false
}

// checkUDP passes unless the member says that nothing listens.
func checkUDP(ctx context.Context, space, address string, limit time.Duration) error {
	conn, err := dial(ctx, space, "udp", address, limit)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Write([]byte{0}); err != nil {
		return err
	}
	_ = conn.SetReadDeadline(time.Now().Add(min(limit, time.Second)))
	_, err = conn.Read(make([]byte, 1))
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		return nil
	}
	return err
}

// ping sends an ICMP echo request (RFC 792, RFC 4443) and waits for an answer.
func ping(ctx context.Context, space, address string, limit time.Duration) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	network, request, reply := "ip4:icmp", []byte{8, 0, 0xf7, 0xff, 0, 0, 0, 0}, byte(0)
	if to.Addr().Is6() { // the kernel fills in the checksum of ICMPv6
		network, request, reply = "ip6:ipv6-icmp", []byte{128, 0, 0, 0, 0, 0, 0, 0}, 129
	}
	conn, err := dial(ctx, space, network, to.Addr().String(), limit)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(limit))
	if _, err := conn.Write(request); err != nil {
		return err
	}
	for answer := make([]byte, 1500); ; {
		// Unlike Read, ReadFrom leaves out the header of IPv4.
		n, _, err := conn.(*net.IPConn).ReadFrom(answer)
		if err != nil {
			return err
		}
		if n > 0 && answer[0] == reply {
			return nil
		}
	}
}
