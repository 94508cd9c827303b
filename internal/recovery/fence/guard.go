package fence

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// Guard lets reading requests pass, to the cloud or to a workload cluster, and writing
// ones only while nobody has taken over.
type Guard struct {
	// Below makes the requests.
	Below http.RoundTripper
	// Check is asked before each writing request: Watch.Allowed, which remembers, or
	// Fence.Check, which asks the cloud each time.
	Check func(context.Context) error
}

// RoundTrip implements http.RoundTripper. A login is a POST that changes nothing.
func (g *Guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if !reads(r) {
		if err := g.Check(r.Context()); err != nil {
			if r.Body != nil {
				_ = r.Body.Close() // as RoundTrip must
			}
			return nil, fmt.Errorf("writing is not allowed: %w", err)
		}
	}
	return g.Below.RoundTrip(r)
}

// CloseIdleConnections lets http.Client close the connections below.
func (g *Guard) CloseIdleConnections() {
	if below, ok := g.Below.(interface{ CloseIdleConnections() }); ok {
		below.CloseIdleConnections()
	}
}

func reads(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, "": // net/http sends GET for none
		return true
	case http.MethodPost:
		return strings.HasSuffix(r.URL.Path, "/v3/auth/tokens")
	}
	return false
}
