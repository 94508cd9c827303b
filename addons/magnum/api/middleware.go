package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/slipway-sh/slipway/addons/magnum/openstack"
	"github.com/slipway-sh/slipway/addons/openstackapi"
)

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := s.o.Now()
	ctx, cancel := context.WithTimeout(r.Context(), s.o.RequestTime)
	defer cancel()
	c := &call{s: s, w: &openstackapi.Recorder{ResponseWriter: w}, requestID: "req-" + uuid.NewString(), base: s.addresses.Of(r)}
	c.r = r.WithContext(withCall(ctx, c))
	c.w.Header().Set("X-Openstack-Request-Id", c.requestID)
	defer func() { s.account(c, s.o.Now().Sub(start)) }()
	defer openstackapi.Recover(s.o.Log, c.requestID, c.panicked)
	if s.cors(c.w, r) {
		return
	}
	c.r.Body = http.MaxBytesReader(c.w, r.Body, s.o.MaxBody)
	c.serve()
	c.fail()
}

// fail writes the error, if there is one.
func (c *call) fail() {
	if c.err == nil || errors.Is(c.err, openstackapi.Answered{}) {
		return
	}
	if errors.Is(c.err, context.Canceled) && c.ctx().Err() != nil {
		c.w.Status = 499 // the client went: nobody reads an answer
		return
	}
	if errors.Is(c.err, openstack.ErrUnauthorized) {
		c.s.o.Tokens.Forget(c.token.ID)
		openstackapi.Unauthorized(c.w, c.s.o.AuthURL)
		return
	}
	answer := asHTTP(c.err)
	answer.write(c.w, c.r, c.requestID)
}

// panicked answers a request whose handler panicked, unless the handler had begun to answer.
func (c *call) panicked(err error) {
	if c.err = err; c.w.Status == 0 {
		c.fail()
	}
}

// serve determines what is requested and by whom.
func (c *call) serve() {
	path := clean(c.r.URL.EscapedPath(), pathOf(c.base))
	switch path {
	case "/":
		c.route, c.err = "/", c.public(rootDocument)
		return
	case "/v1/healthcheck":
		c.route, c.err = "/healthcheck", c.public(healthcheck)
		return
	case "/v1":
		if c.route, c.err = "/v1", c.negotiate(); c.err == nil {
			c.err = c.public(v1Document)
		}
		return
	}
	if c.err = c.authenticate(); c.err != nil {
		return
	}
	if c.err = c.negotiate(); c.err != nil {
		return
	}
	if !c.s.o.Inventory.Synced() {
		c.err = away("the server is starting", nil)
		return
	}
	c.dispatch(path)
}

func (c *call) dispatch(path string) {
	plain, err := url.PathUnescape(path)
	if err != nil {
		c.err = badRequest("The path cannot be read.")
		return
	}
	r := c.r.Clone(c.r.Context())
	r.URL.Path, r.URL.RawPath = plain, path
	if r.Method == http.MethodHead {
		r.Method = http.MethodGet
	}
	c.s.mux.ServeHTTP(c.w, r)
}

// public answers what needs no token.
func (c *call) public(do func(*call) error) error {
	if c.r.Method != http.MethodGet && c.r.Method != http.MethodHead {
		c.w.Header().Set("Allow", "GET, HEAD")
		return &httpError{status: http.StatusMethodNotAllowed, detail: "The method " + c.r.Method + " is not allowed here.", outside: true}
	}
	return do(c)
}

// healthcheck works like oslo.middleware's: the operator can take a replica out of a load balancer
// by a file.
func healthcheck(c *call) error {
	status, text := http.StatusOK, "OK"
	if !c.s.o.Inventory.Synced() {
		status, text = http.StatusServiceUnavailable, "STARTING"
	}
	if file := c.s.o.DisableFile; file != "" {
		if _, err := os.Stat(file); err == nil {
			status, text = http.StatusServiceUnavailable, "DISABLED BY FILE"
		}
	}
	c.w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
	c.w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	c.w.WriteHeader(status)
	c.w.Write([]byte(text)) //nolint:errcheck // the client is gone
	return nil
}

func (c *call) negotiate() error {
	version, readable, err := negotiate(c.r.Header.Get("OpenStack-API-Version"))
	if readable {
		versionHeaders(c.w.Header(), version)
	}
	c.version = version
	return err
}

// authenticate determines who calls.
func (c *call) authenticate() error {
	token, err := openstackapi.Authenticate(c.w, c.r, c.s.o.Tokens, c.s.o.AuthURL)
	if err != nil {
		return err
	}
	c.token, c.caller = token, token.Caller()
	c.admin = c.s.o.Policy.Admin(c.caller)
	return nil
}

// account records an answer in the metrics and the audit log.
func (s *Server) account(c *call, took time.Duration) {
	s.o.Observe(c.r.Method, fallback(c.route, "other"), c.w.Status, took)
	audit := openstackapi.Audit{Request: c.r, RequestID: c.requestID, Status: c.w.Status, Took: took, Token: c.token, Object: c.object}
	if c.err != nil {
		audit.Reason = reason(c.err)
	}
	audit.Log(s.o.Log)
}

// reason is the error with its cause.
func reason(err error) string {
	var answer *httpError
	if errors.As(err, &answer) && answer.cause != nil {
		return answer.detail + " " + answer.cause.Error()
	}
	return openstackapi.Reason(err)
}
