package peer

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

const (
	// lookupTime is how long addresses of replicas are used again, dnsTime how long DNS may take
	// to tell them: every write waits for the answer.
	lookupTime = 2 * time.Second
	dnsTime    = time.Second
)

// names finds replicas by one name of DNS.
type names struct {
	host, port string
	resolve    func(ctx context.Context, host string) ([]string, error)

	mu        sync.Mutex
	addresses []string
	until     time.Time
}

// Named finds the replicas at host:port by DNS.
func Named(address string) (Finder, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	return &names{host: host, port: port, resolve: net.DefaultResolver.LookupHost}, nil
}

// Find implements [Finder]. Without an answer of DNS it has the last addresses, and DNS is left
// alone for a while then: requests that wait here wait for each other. A client that goes away
// does not end what others wait for.
func (n *names) Find(ctx context.Context) ([]string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if time.Now().Before(n.until) {
		return n.addresses, nil
	}
	brief, cancel := context.WithTimeout(context.WithoutCancel(ctx), dnsTime)
	defer cancel()
	found, err := n.resolve(brief, n.host)
	n.until = time.Now().Add(lookupTime)
	if err != nil {
		return n.addresses, fmt.Errorf("looking up %s: %w", n.host, err)
	}
	addresses := make([]string, 0, len(found))
	for _, address := range found {
		addresses = append(addresses, net.JoinHostPort(address, n.port))
	}
	n.addresses = addresses
	return addresses, nil
}
