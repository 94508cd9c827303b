// Package peer lets replicas of the endpoint wait for each other: an answer to
// a write is held back until every replica that can be reached would show the
// write, so that a client sees it wherever its next request goes. Reads cost
// nothing for it.
package peer

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/inventory"
)

// Path is where replicas ask each other.
const Path = "/seen"

const (
	// waitTime bounds how long a write waits for a replica. One that takes
	// longer is cut off from the API server or dead, and load balancers take it
	// out.
	waitTime = 2 * time.Second
	// lookupTime is how long addresses of replicas are used again, dnsTime how long DNS may take
	// to tell them: a node that is lost may have had the cluster's DNS, and every write waits
	// for the answer.
	lookupTime = 2 * time.Second
	dnsTime    = time.Second
)

// Handler answers other replicas: 204 when the inventory has an object in a
// version or later, or no longer in this one for a deletion; 504 when that
// takes too long.
func Handler(stock *inventory.Inventory) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		deleted, err := strconv.ParseBool(q.Get("deleted"))
		if err != nil || q.Get("kind") == "" || q.Get("version") == "" {
			http.Error(w, "kind, namespace, name, version and deleted are needed", http.StatusBadRequest)
			return
		}
		key := types.NamespacedName{Namespace: q.Get("namespace"), Name: q.Get("name")}
		if !stock.AwaitVersion(r.Context(), q.Get("kind"), key, q.Get("version"), deleted, waitTime) {
			w.WriteHeader(http.StatusGatewayTimeout)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

// Group is all replicas by one name of DNS, such as that of a headless
// Service.
type Group struct {
	host, port string
	log        *slog.Logger
	http       http.Client
	resolve    func(ctx context.Context, host string) ([]string, error)

	mu        sync.Mutex
	addresses []string
	until     time.Time
}

// NewGroup returns the replicas at host:port, where port serves [Handler].
func NewGroup(address string, log *slog.Logger) (*Group, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	return &Group{host: host, port: port, log: log, http: http.Client{Timeout: waitTime}, resolve: net.DefaultResolver.LookupHost}, nil
}

// Await waits until all replicas show o as it was written, or its deletion. A
// replica that does not answer in time is told of in the log and left out.
func (g *Group) Await(ctx context.Context, o client.Object, deleted bool) {
	query := url.Values{"kind": {inventory.Kind(o)}, "namespace": {o.GetNamespace()}, "name": {o.GetName()}, "version": {o.GetResourceVersion()},
		"deleted": {strconv.FormatBool(deleted)}}.Encode()
	var all sync.WaitGroup
	for _, address := range g.lookup(ctx) {
		all.Go(func() {
			if err := g.ask(ctx, "http://"+net.JoinHostPort(address, g.port)+Path+"?"+query); err != nil {
				g.log.WarnContext(ctx, "did not wait for a replica", "replica", address, "error", err.Error())
			}
		})
	}
	all.Wait()
}

func (g *Group) ask(ctx context.Context, address string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := g.http.Do(r)
	if err != nil {
		return err
	}
	response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		return &statusError{response.Status}
	}
	return nil
}

type statusError struct{ status string }

func (e *statusError) Error() string { return "it answered " + e.status }

// lookup is the replicas' addresses; without an answer of DNS the last ones, and DNS is left
// alone for a while then: requests that wait here wait for each other. A client that goes away
// does not end what others wait for.
func (g *Group) lookup(ctx context.Context) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Now().Before(g.until) {
		return g.addresses
	}
	brief, cancel := context.WithTimeout(context.WithoutCancel(ctx), dnsTime)
	defer cancel()
	found, err := g.resolve(brief, g.host)
	g.until = time.Now().Add(lookupTime)
	if err != nil {
		g.log.WarnContext(ctx, "finding replicas", "host", g.host, "error", err.Error())
		return g.addresses
	}
	g.addresses = found
	return found
}
