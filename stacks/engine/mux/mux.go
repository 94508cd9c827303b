// Package mux replaces the router in which Pulumi looks up the names of its cloud service's calls,
// for traces and for "pulumi api". Slipway's engine has its states elsewhere and makes none. The
// original compiles an expression for each of a few hundred paths when the program starts.
package mux

import "net/http"

// Router matches nothing.
type Router struct{}

// NewRouter returns a router.
func NewRouter() *Router { return &Router{} }

// Path begins a route that is not kept.
func (*Router) Path(string) *Route { return &Route{} }

// Match finds no route: Pulumi calls it "unknown".
func (*Router) Match(*http.Request, *RouteMatch) bool { return false }

// Route is forgotten.
type Route struct{}

// Methods would restrict the route.
func (r *Route) Methods(...string) *Route { return r }

// Name would name the route.
func (r *Route) Name(string) *Route { return r }

// GetName has no name.
func (*Route) GetName() string { return "" }

// RouteMatch is never filled.
type RouteMatch struct {
	Route *Route
	Vars  map[string]string
}
