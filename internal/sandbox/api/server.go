package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"runtime/debug"
	"strings"

	"github.com/google/uuid"

	"github.com/slipway-sh/slipway/internal/event"
)

// Authenticate returns the caller of a token; any error is a 401.
type Authenticate func(token string) (*Principal, error)

// Server serves the cloud's services on one listener.
type Server struct {
	env          *Env
	authenticate Authenticate
	services     []mounted
}

type mounted struct {
	*Service
	mux *http.ServeMux
}

// NewServer returns a server of services; it refuses routes that clash or require no role.
func NewServer(env *Env, authenticate Authenticate, services ...*Service) (*Server, error) {
	s := &Server{env: env, authenticate: authenticate}
	for _, service := range services {
		mux, err := service.mux(s)
		if err != nil {
			return nil, err
		}
		s.services = append(s.services, mounted{service, mux})
	}
	return s, nil
}

type callKey struct{}

// ServeHTTP serves one request: faults first, then token, access rules, role
// and microversion, then the handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &Call{Request: r, Writer: &writer{ResponseWriter: w}, Env: s.env, ID: "req-" + uuid.NewString()}
	w.Header().Set("X-Openstack-Request-Id", c.ID)
	service, below := s.find(r.URL.Path)
	if service.Service == nil {
		c.Service = &Service{Errors: KeystoneErrors}
		s.fail(c, NotFound("No service is at %s.", r.URL.Path))
		return
	}
	c.Service = service.Service
	if s.inject(c, below) {
		return
	}
	s.dispatch(c, service, below)
}

func (s *Server) find(path string) (mounted, string) {
	for _, service := range s.services {
		if below, ok := service.below(path); ok {
			return service, below
		}
	}
	return mounted{}, ""
}

// dispatch finds the route. It ignores double slashes and slashes at the end, except for services
// whose Fallback reads them.
func (s *Server) dispatch(c *Call, service mounted, below string) {
	clean := path.Clean(below)
	if service.Rewrite != nil {
		clean = service.Rewrite(clean)
	}
	inner := c.Request.WithContext(context.WithValue(c.Request.Context(), callKey{}, c))
	inner.URL = &url.URL{Path: clean, RawQuery: c.Request.URL.RawQuery}
	if raw, ok := strings.CutPrefix(c.Request.URL.EscapedPath(), service.Prefix); ok && path.Clean("/"+raw) != clean {
		inner.URL.RawPath = path.Clean("/" + raw)
	}
	if service.Fallback == nil || clean == below {
		handler, pattern := service.mux.Handler(inner)
		if pattern != "" {
			service.mux.ServeHTTP(c.Writer, inner)
			return
		}
		if service.Fallback == nil {
			s.run(c, Token, func(*Call) error { return unmatched(handler, inner) })
			return
		}
	}
	role := Token
	if service.Anonymous && c.Request.Header.Get("X-Auth-Token") == "" {
		role = Public
	}
	s.run(c, role, service.Fallback)
}

// unmatched returns the error for a wrong path or a wrong method; the mux says which of them it is.
func unmatched(handler http.Handler, r *http.Request) error {
	probe := httptest.NewRecorder()
	handler.ServeHTTP(probe, r)
	if probe.Code != http.StatusMethodNotAllowed {
		return NotFound("The resource could not be found.")
	}
	e := Errorf(http.StatusMethodNotAllowed, "", "The method is not allowed for the requested resource.")
	e.Header = http.Header{"Allow": probe.Header()["Allow"]}
	return e
}

func (s *Server) endpoint(_ *Service, route Route) http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		c := r.Context().Value(callKey{}).(*Call)
		c.Request = r
		s.run(c, route.Role, route.Handle)
	})
}

// run serves a call and writes its answer.
func (s *Server) run(c *Call, role Role, handle Handler) {
	defer func() {
		problem := recover()
		if problem == nil {
			return
		}
		if problem == http.ErrAbortHandler {
			panic(problem)
		}
		s.fail(c, fmt.Errorf("panic: %v\n%s", problem, debug.Stack()))
	}()
	if err := s.admit(c, role); err != nil {
		s.fail(c, err)
		return
	}
	if err := handle(c); err != nil {
		s.fail(c, err)
		return
	}
	if c.reply != nil {
		s.write(c, c.reply.status, contentJSON, c.reply.body)
	}
}

func (s *Server) write(c *Call, status int, contentType string, body any) {
	if body == nil {
		c.Writer.WriteHeader(status)
		return
	}
	c.Writer.Header().Set("Content-Type", contentType)
	text, ok := body.([]byte)
	if !ok {
		text = encode(body)
	}
	c.Writer.WriteHeader(status)
	_, _ = c.Writer.Write(text) // the client may have gone
}

// fail writes an error in the service's form; an error that is no *Error is a fault of the sandbox
// and is written to its log.
func (s *Server) fail(c *Call, err error) {
	if w, ok := c.Writer.(*writer); ok && w.wrote {
		return
	}
	var e *Error
	if !errors.As(err, &e) {
		s.env.Events.Emit(event.Event{Time: s.env.Timing.Now(), State: event.Failed, Step: c.Service.Name,
			Error: fmt.Sprintf("%s %s (%s): %v", c.Request.Method, c.Request.URL.Path, c.ID, err)})
		e = Errorf(http.StatusInternalServerError, "", "Unexpected error; the sandbox's log tells more under %s.", c.ID)
	}
	style := c.Service.Errors
	if e.Status == http.StatusUnauthorized {
		style = KeystoneErrors
		c.Writer.Header().Set("WWW-Authenticate", `Keystone uri="`+c.Base()+`/identity"`)
	}
	for name, values := range e.Header {
		c.Writer.Header()[name] = values
	}
	contentType, body := style(e)
	s.write(c, e.Status, contentType, body)
}

// writer remembers whether an answer has begun.
type writer struct {
	http.ResponseWriter
	wrote bool
}

func (w *writer) WriteHeader(status int) {
	w.wrote = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(p []byte) (int, error) {
	w.wrote = true
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
