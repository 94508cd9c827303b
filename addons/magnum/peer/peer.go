// Package peer lets replicas of the endpoint wait for each other: an answer to
// a write is held back until every replica that can be reached would show the
// write, so that a client sees it wherever its next request goes. Reads cost
// nothing for it.
package peer

import (
	"context"
	"log/slog"
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

// waitTime bounds how long a write waits for a replica. One that takes longer is cut off from
// the API server or dead, and load balancers take it out.
const waitTime = 2 * time.Second

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

// Finder names the addresses, host and port, where replicas serve [Handler]. An error is for the
// log: writes wait for the addresses beside it.
type Finder interface {
	Find(ctx context.Context) ([]string, error)
}

// Group is all replicas.
type Group struct {
	replicas Finder
	log      *slog.Logger
	http     http.Client
}

// NewGroup returns the replicas that are found.
func NewGroup(replicas Finder, log *slog.Logger) *Group {
	return &Group{replicas: replicas, log: log, http: http.Client{Timeout: waitTime}}
}

// Await waits until all replicas show o as it was written, or its deletion. A
// replica that does not answer in time is told of in the log and left out.
func (g *Group) Await(ctx context.Context, o client.Object, deleted bool) {
	query := url.Values{"kind": {inventory.Kind(o)}, "namespace": {o.GetNamespace()}, "name": {o.GetName()}, "version": {o.GetResourceVersion()},
		"deleted": {strconv.FormatBool(deleted)}}.Encode()
	addresses, err := g.replicas.Find(ctx)
	if err != nil {
		g.log.WarnContext(ctx, "finding replicas", "error", err.Error())
	}
	var all sync.WaitGroup
	for _, address := range addresses {
		all.Go(func() {
			if err := g.ask(ctx, "http://"+address+Path+"?"+query); err != nil {
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
