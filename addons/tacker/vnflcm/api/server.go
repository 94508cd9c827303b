// Package api is the REST API of VNF lifecycle management: SOL003 2.0.0 as Tacker's v2
// API has it, on the custom resources of package v1alpha1. It keeps nothing itself.
package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipway-sh/slipway/addons/magnum/keystone"
	"github.com/slipway-sh/slipway/addons/magnum/policy"
	"github.com/slipway-sh/slipway/addons/openstackapi"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/view"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/worker"
)

// Options are what the server works with and how.
type Options struct {
	// Worker has the clients; the API writes what it reads.
	Worker *worker.Options
	Tokens openstackapi.Validator
	Policy *policy.Enforcer
	// AuthURL is Keystone's address for clients without a token.
	AuthURL string
	// Addresses are those of links; Worker.Links has the same for notifications.
	Addresses openstackapi.Addresses
	// VIMID is the id of the management cluster as a VIM.
	VIMID string
	// SkipTest creates subscriptions without asking the callback.
	SkipTest bool
	// PageSize is how many documents a list has; 0 is all.
	PageSize int
	// MaxBody is the largest body in bytes; 0 is 112 KiB.
	MaxBody int64
	// RequestTime bounds a request; 0 is 45 seconds: a load balancer of Octavia ends a connection
	// that has no data for 50 (timeout_client_data, timeout_member_data).
	RequestTime time.Duration
	// MaxReads and MaxWrites are how many requests that the policy permits are served at a time,
	// QueueTime how long others wait before they are answered 503. 0 is 128, 64 and 5 seconds. A
	// project has half of the places at most.
	MaxReads, MaxWrites int
	QueueTime           time.Duration
	Log                 *slog.Logger
	// Observe receives every answer; nil is nobody.
	Observe openstackapi.Observer
}

// maxReply is how large a reply may be, as in Tacker.
const maxReply = 1_000_000

// Server answers requests. It is safe for concurrent use.
type Server struct {
	o   Options
	mux *http.ServeMux
	// lanes bound what is served at a time.
	lanes *openstackapi.Lanes
}

// New returns a server.
func New(o Options) (*Server, error) {
	if o.Worker == nil || o.Tokens == nil || o.Policy == nil {
		return nil, errors.New("the server needs a worker's options, tokens and a policy")
	}
	if o.MaxBody == 0 {
		o.MaxBody = 112 << 10
	}
	if o.RequestTime == 0 {
		o.RequestTime = 45 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Observe == nil {
		o.Observe = func(string, string, int, time.Duration) {}
	}
	s := &Server{o: o, lanes: openstackapi.NewLanes(o.MaxReads, o.MaxWrites, o.QueueTime)}
	s.mux = s.routes()
	return s, nil
}

// call is one request on its way.
type call struct {
	s *Server
	w *openstackapi.Recorder
	r *http.Request

	requestID, route, object string
	links                    view.Links
	token                    *keystone.Token
	err                      error
}

type callKey struct{}

func (c *call) ctx() context.Context { return c.r.Context() }

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	ctx, cancel := context.WithTimeout(r.Context(), s.o.RequestTime)
	defer cancel()
	c := &call{s: s, w: &openstackapi.Recorder{ResponseWriter: w}, requestID: "req-" + uuid.NewString(), links: view.Links{Base: s.o.Addresses.Of(r)}, route: "other"}
	c.r = r.WithContext(context.WithValue(ctx, callKey{}, c))
	c.r.Body = http.MaxBytesReader(c.w, r.Body, s.o.MaxBody)
	c.w.Header().Set("X-Openstack-Request-Id", c.requestID)
	defer func() { s.account(c, time.Since(start)) }()
	defer openstackapi.Recover(s.o.Log, c.requestID, c.panicked)
	if c.err = c.serve(); c.err != nil {
		c.fail()
	}
}

// panicked answers a request whose handler panicked, unless it has begun to.
func (c *call) panicked(err error) {
	if c.err = err; c.w.Status == 0 {
		c.fail()
	}
}

func (s *Server) account(c *call, took time.Duration) {
	s.o.Observe(c.r.Method, c.route, c.w.Status, took)
	audit := openstackapi.Audit{Request: c.r, RequestID: c.requestID, Status: c.w.Status, Took: took, Token: c.token, Object: c.object}
	if c.err != nil {
		audit.Reason = openstackapi.Reason(c.err)
	}
	audit.Log(s.o.Log)
}

// serve finds out what is asked and by whom. A prefix that a proxy leaves is cut off.
func (c *call) serve() error {
	at := path.Clean("/" + c.r.URL.Path)
	if i := strings.Index(at, "/vnflcm/"); i > 0 {
		at = at[i:]
	}
	switch at {
	case "/healthcheck":
		c.route = at
		return c.public(func() error { return c.text("OK") })
	case "/vnflcm/api_versions":
		c.route = at
		return c.public(func() error { return c.reply(http.StatusOK, versions("1.3.0", "2.0.0")) })
	case view.Root + "/api_versions":
		c.route = at
		return c.public(func() error { return c.reply(http.StatusOK, versions("2.0.0")) })
	}
	var err error
	if c.token, err = openstackapi.Authenticate(c.w, c.r, c.s.o.Tokens, c.s.o.AuthURL); err != nil {
		return err
	}
	r := c.r.Clone(c.r.Context())
	r.URL.Path, r.URL.RawPath = at, ""
	c.s.mux.ServeHTTP(c.w, r)
	return c.err
}

// public answers what needs neither token nor version.
func (c *call) public(do func() error) error {
	if c.r.Method != http.MethodGet && c.r.Method != http.MethodHead {
		return c.notAllowed(http.MethodGet)
	}
	return do()
}

func (c *call) notAllowed(methods ...string) error {
	c.w.Header().Set("Allow", strings.Join(methods, ", "))
	return refuse(http.StatusMethodNotAllowed, "The method %s is not allowed here.", c.r.Method)
}
