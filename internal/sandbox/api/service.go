package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// Handler serves one operation. It answers with Call.Reply, or by writing to
// Call.Writer when it streams, or returns an *Error.
type Handler func(c *Call) error

// Route is one operation: a pattern of net/http below the service's prefix
// ("GET /v2.1/servers/{id}"), the role that it needs, and its handler.
type Route struct {
	Pattern string
	Role    Role
	Handle  Handler
}

// Service is one API of the cloud.
type Service struct {
	// Name is the name of the OpenStack project ("nova"), Type the service type in the catalog
	// ("compute").
	Name, Type string
	// Prefix is the service's path on the cloud's listener ("/compute").
	Prefix string
	// Catalog is the path of the service's endpoint ("/compute/v2.1"), in which "%(project_id)s"
	// means the id of the token's project. If it is empty, the service is not in the catalog.
	Catalog string
	Errors  ErrorStyle
	// Microversions is nil for services without them.
	Microversions *Microversions
	Routes        []Route
	// Fallback serves calls that match no route, with any method and the path as it was sent, to
	// callers with a token. Nil answers 404.
	Fallback Handler
	// Anonymous lets Fallback serve calls without a token too; it then finds
	// no Principal and decides itself.
	Anonymous bool
	// Rewrite turns the cleaned path below the prefix into the path that routes are matched with;
	// nil leaves it unchanged.
	Rewrite func(path string) string
	// Bootstrap puts into the model what the service begins with, such as an external network; it
	// is called at every start, after the first users were created, and does not change what exists
	// already. Nil does nothing.
	Bootstrap func(tx *store.Tx) error
	// Run does background work until the context ends; nil for no such work.
	Run func(ctx context.Context)
}

// mux checks the routes and puts them in a mux.
func (s *Service) mux(server *Server) (mux *http.ServeMux, err error) {
	mux = http.NewServeMux()
	defer func() {
		if problem := recover(); problem != nil { // how ServeMux tells of bad patterns
			err = fmt.Errorf("service %s: %v", s.Name, problem)
		}
	}()
	for _, route := range s.Routes {
		if route.Role == unset {
			return nil, fmt.Errorf("service %s: route %q asks for no role", s.Name, route.Pattern)
		}
		mux.Handle(route.Pattern, server.endpoint(s, route))
	}
	return mux, nil
}

// below returns the path below the service's prefix.
func (s *Service) below(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, s.Prefix)
	if !ok || (rest != "" && rest[0] != '/') {
		return "", false
	}
	if rest == "" {
		rest = "/"
	}
	return rest, true
}
