// Package callback tells subscribers what happens to VNF instances. Where it connects to
// is the caller's choice, so it takes care that this is no way into networks that the
// caller cannot reach alone.
package callback

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Rules are where callbacks may lead: to public addresses over HTTPS, and to what the
// operator allows.
type Rules struct {
	hosts    []string
	networks []netip.Prefix
	trusted  *x509.CertPool
}

// NewRules reads the hosts and networks that are allowed although they are not public, and
// PEM certificates that are trusted beside the system's.
func NewRules(allowed []string, ca []byte) (Rules, error) {
	var r Rules
	for _, text := range allowed {
		if network, err := netip.ParsePrefix(text); err == nil {
			r.networks = append(r.networks, network.Masked())
		} else if address, err := netip.ParseAddr(text); err == nil {
			r.networks = append(r.networks, netip.PrefixFrom(address, address.BitLen()))
		} else if strings.ContainsAny(text, "/:@ *") || text == "" {
			return r, fmt.Errorf("%q is neither a host nor a network", text)
		} else {
			r.hosts = append(r.hosts, strings.ToLower(text))
		}
	}
	if len(ca) > 0 {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(ca) {
			return r, errors.New("there is no PEM certificate")
		}
		r.trusted = pool
	}
	return r, nil
}

// Check says what is wrong with an address before anything connects to it.
func (r Rules) Check(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "":
		return errors.New("it is no absolute URL")
	case u.User != nil:
		return errors.New("it must not have a user or password")
	case u.Fragment != "":
		return errors.New("it must not have a fragment")
	case u.Scheme == "https", u.Scheme == "http" && r.named(u.Hostname()):
	default:
		return errors.New("it must begin with https://; plain HTTP is for hosts that the operator allows")
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !r.reachable(ip, false) {
		return errors.New("its address is not public, and the operator does not allow it")
	}
	return nil
}

// named reports whether the operator allows a host by its name or address.
func (r Rules) named(host string) bool {
	ip, err := netip.ParseAddr(host)
	return slices.Contains(r.hosts, strings.ToLower(host)) || err == nil && r.listed(ip.Unmap())
}

func (r Rules) listed(ip netip.Addr) bool {
	return slices.ContainsFunc(r.networks, func(n netip.Prefix) bool { return n.Contains(ip) })
}

// special are networks that are not public though net/netip does not say so: shared,
// protocol, benchmark, reserved, and those in which IPv4 addresses hide.
func special() []netip.Prefix {
	var all []netip.Prefix
	for _, text := range []string{"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "fec0::/10"} {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// reachable reports whether an address may be connected to. That of the metadata service never may.
func (r Rules) reachable(ip netip.Addr, named bool) bool {
	ip = ip.Unmap().WithZone("")
	if ip.IsUnspecified() || ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip == netip.MustParseAddr("fd00:ec2::254") {
		return false
	}
	if named || r.listed(ip) {
		return true
	}
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !slices.ContainsFunc(special(), func(n netip.Prefix) bool { return n.Contains(ip) })
}

// callTime bounds a request.
const callTime = 15 * time.Second

// Client is for callbacks and for the servers of their tokens. It looks at the address
// that a name has been resolved to, follows no redirect and uses no proxy.
func (r Rules) Client() *http.Client {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		d := net.Dialer{Timeout: callTime, Control: func(_, resolved string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(resolved)
			if err != nil || !r.reachable(to.Addr(), r.named(host)) {
				return fmt.Errorf("the address of %s is not public, and the operator does not allow it", host)
			}
			return nil
		}}
		return d.DialContext(ctx, network, address)
	}
	return &http.Client{
		Timeout:       callTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true, MaxResponseHeaderBytes: 16 << 10, TLSHandshakeTimeout: callTime,
			TLSClientConfig: &tls.Config{RootCAs: r.trusted, MinVersion: tls.VersionTLS12}},
	}
}
