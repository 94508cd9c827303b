package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/slipway-sh/slipway/addons/magnum/keystone"
	"github.com/slipway-sh/slipway/addons/magnum/openstack"
)

// recorder remembers the status that was written.
type recorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader is http.ResponseWriter's.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := s.o.Now()
	ctx, cancel := context.WithTimeout(r.Context(), s.o.RequestTime)
	defer cancel()
	c := &call{s: s, w: &recorder{ResponseWriter: w}, requestID: "req-" + uuid.NewString(), base: s.baseOf(r)}
	c.r = r.WithContext(withCall(ctx, c))
	c.w.Header().Set("X-Openstack-Request-Id", c.requestID)
	defer func() { s.account(c, s.o.Now().Sub(start)) }()
	defer c.recover()
	if s.cors(c.w, r) {
		return
	}
	c.r.Body = http.MaxBytesReader(c.w, r.Body, s.o.MaxBody)
	c.serve()
	c.fail()
}

// fail writes the error, if there is one.
func (c *call) fail() {
	if c.err == nil || errors.Is(c.err, answered{}) {
		return
	}
	if errors.Is(c.err, context.Canceled) && c.ctx().Err() != nil {
		c.w.status = 499 // the client went: nobody reads an answer
		return
	}
	if errors.Is(c.err, openstack.ErrUnauthorized) {
		c.s.o.Tokens.Forget(c.token.ID)
		c.unauthorized()
		return
	}
	answer := asHTTP(c.err)
	answer.write(c.w, c.r, c.requestID)
}

func (c *call) recover() {
	problem := recover()
	if problem == nil {
		return
	}
	if problem == http.ErrAbortHandler {
		panic(problem)
	}
	c.s.o.Log.Error("panic", "request_id", c.requestID, "panic", fmt.Sprint(problem), "stack", string(debug.Stack()))
	if c.err = errors.New("panic"); c.w.status == 0 {
		c.fail()
	}
}

// serve finds out what is asked and by whom.
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

// healthcheck is oslo.middleware's: the operator can take a replica out of a
// load balancer by a file.
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

// authenticate finds out who calls. Without a valid token the answer is the
// one of Keystone's middleware, on which clients log in again (facts 3.1).
func (c *call) authenticate() error {
	token, err := c.s.o.Tokens.Validate(c.ctx(), c.r.Header.Get("X-Auth-Token"), c.r.Header.Get("X-Service-Token"))
	switch {
	case errors.Is(err, keystone.ErrInvalid):
		c.unauthorized()
		return answered{}
	case err != nil:
		return err
	case token.ProjectID == "":
		return forbidden("The token must be scoped to a project.")
	}
	c.token, c.caller = token, token.Caller()
	c.admin = c.s.o.Policy.Admin(c.caller)
	return nil
}

func (c *call) unauthorized() {
	h := c.w.Header()
	h.Set("WWW-Authenticate", fmt.Sprintf("Keystone uri=%q", c.s.o.AuthURL))
	h.Set("Content-Type", "text/plain; charset=UTF-8")
	c.w.WriteHeader(http.StatusUnauthorized)
	c.w.Write([]byte("Authentication required\n")) //nolint:errcheck // the client is gone
}

// answered says that the answer has been written already.
type answered struct{}

func (answered) Error() string { return "authentication required" }

// account tells metrics and the audit log of an answer: everything that
// changes something or was refused for who asked, and what went wrong.
func (s *Server) account(c *call, took time.Duration) {
	route := fallback(c.route, "other")
	s.o.Observe(c.r.Method, route, c.w.status, took)
	changing := c.r.Method != http.MethodGet && c.r.Method != http.MethodHead && c.r.Method != http.MethodOptions
	level := slog.LevelDebug
	switch {
	case c.w.status >= 500:
		level = slog.LevelError
	case changing || c.w.status == http.StatusUnauthorized || c.w.status == http.StatusForbidden:
		level = slog.LevelInfo
	}
	if !s.o.Log.Enabled(c.r.Context(), level) {
		return
	}
	attributes := []slog.Attr{slog.String("request_id", c.requestID), slog.String("method", c.r.Method), slog.String("path", c.r.URL.Path),
		slog.Int("status", c.w.status), slog.Duration("took", took), slog.String("remote", c.r.RemoteAddr)}
	if c.token != nil {
		attributes = append(attributes, slog.String("user_id", c.caller.UserID), slog.String("project_id", c.caller.ProjectID))
	}
	if c.object != "" {
		attributes = append(attributes, slog.String("object", c.object))
	}
	if global := c.r.Header.Get("X-Openstack-Request-Id"); len(global) == 40 {
		attributes = append(attributes, slog.String("global_request_id", global))
	}
	if c.err != nil {
		attributes = append(attributes, slog.String("error", reason(c.err)))
	}
	s.o.Log.LogAttrs(c.r.Context(), level, "request", attributes...)
}

// reason is the error with what is behind it.
func reason(err error) string {
	var answer *httpError
	if errors.As(err, &answer) && answer.cause != nil {
		return answer.detail + " " + answer.cause.Error()
	}
	return err.Error()
}
