// Package router puts several management clusters behind one Magnum API
// (docs/design/0070-ten-thousand-clusters.md). A project is on one of them: what it asks is sent
// there as it is, with its token, which that API validates again. Requests of administrators
// across projects are asked of all, and their answers are merged.
package router

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/keystone"
	"github.com/slipway-sh/slipway/addons/magnum/policy"
	"github.com/slipway-sh/slipway/addons/openstackapi"
)

// Tokens knows who calls.
type Tokens interface {
	Validate(ctx context.Context, token, serviceToken string) (*keystone.Token, error)
	// Forget drops what is remembered of a token.
	Forget(token string)
}

// Member is a management cluster with a Magnum API.
type Member struct {
	// Name is that in placements, and in errors that tenants see.
	Name string
	// URL is that of its Magnum API, without /v1.
	URL *url.URL
	// Handler is the API itself if this process serves it; then there is no URL.
	Handler http.Handler
	// Closed says that it gets no projects that have no clusters on it.
	Closed bool
}

// Options are what the router works with and how.
type Options struct {
	// Members are the management clusters, in the order of lists across projects. Their names differ.
	Members []Member
	// Client creates placements, and reads what Placements do not have yet. Placements are
	// those in memory, and Synced says that they have been read.
	Client     client.Client
	Placements client.Reader
	Synced     func() bool
	// Tokens know who calls.
	Tokens Tokens
	// Policy says who may list all projects. It is the members'.
	Policy *policy.Enforcer
	// Transport reaches the members; nil is net/http's.
	Transport http.RoundTripper
	// Log gets the audit log and what goes wrong.
	Log *slog.Logger
	// Observe receives every answer, for metrics; nil is nobody.
	Observe openstackapi.Observer

	// AuthURL is Keystone's public address, for WWW-Authenticate.
	AuthURL string
	// PublicEndpoint is the address clients use, with or without /v1; empty is what each request was
	// sent to.
	PublicEndpoint string
	// TrustForwarded believes X-Forwarded-* and Forwarded; only behind a proxy.
	TrustForwarded bool
	// MaxLimit is the longest page of a list across projects; 0 is 1000.
	MaxLimit int
	// MaxBody is the largest body in bytes; 0 is 112 KiB.
	MaxBody int64
	// RequestTime bounds a request; 0 is 47 seconds: two more than a member's.
	RequestTime time.Duration
	// MaxReads and MaxWrites are how many requests with a valid token are served at a time; 0 is 128
	// and 64. A project has half of the places at most.
	MaxReads, MaxWrites int
}

// Server answers requests. It is safe for concurrent use.
type Server struct {
	o         Options
	addresses openstackapi.Addresses
	lanes     *openstackapi.Lanes
	// placing is held while a project without a home is placed.
	placing *semaphore.Weighted
}

// New returns a router.
func New(o Options) (*Server, error) {
	if len(o.Members) == 0 || o.Client == nil || o.Placements == nil || o.Synced == nil || o.Tokens == nil || o.Policy == nil {
		return nil, errors.New("the router needs members, a client, placements, tokens and a policy")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Observe == nil {
		o.Observe = func(string, string, int, time.Duration) {}
	}
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	o.MaxLimit = cmp.Or(o.MaxLimit, 1000)
	o.MaxBody = cmp.Or(o.MaxBody, 112<<10)
	o.RequestTime = cmp.Or(o.RequestTime, 47*time.Second)
	o.Members = slices.Clone(o.Members)
	s := &Server{o: o, lanes: openstackapi.NewLanes(o.MaxReads, o.MaxWrites, 0), placing: semaphore.NewWeighted(1)}
	for i := range s.o.Members {
		if m := &s.o.Members[i]; m.Handler != nil {
			m.URL = &url.URL{Scheme: "http", Host: "localhost"}
		}
	}
	var err error
	s.addresses, err = openstackapi.NewAddresses(o.PublicEndpoint, "/v1", o.TrustForwarded)
	return s, err
}

// member is the management cluster of a name; nil is none.
func (s *Server) member(name string) *Member {
	for i := range s.o.Members {
		if s.o.Members[i].Name == name {
			return &s.o.Members[i]
		}
	}
	return nil
}
