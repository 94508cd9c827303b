package fence

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// memory is how long a look at the fence counts: a fenced controller stops writing
// within this time.
const memory = 15 * time.Second

// Guard lets reading requests to the cloud pass, and writing ones only while nobody
// has taken over. It looks at most once in a while.
type Guard struct {
	// Below makes the requests.
	Below http.RoundTripper
	// Check is Fence.Check of our generation.
	Check func(context.Context) error

	mu   sync.Mutex
	at   time.Time
	last error
}

// RoundTrip implements http.RoundTripper. A login is a POST that changes nothing.
func (g *Guard) RoundTrip(r *http.Request) (*http.Response, error) {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions || r.Method == http.MethodPost && isLogin(r)
	if !reads {
		if err := g.allowed(r.Context()); err != nil {
			if r.Body != nil {
				_ = r.Body.Close() // as RoundTrip must
			}
			return nil, fmt.Errorf("not writing to the cloud: %w", err)
		}
	}
	return g.Below.RoundTrip(r)
}

func isLogin(r *http.Request) bool {
	const path = "/v3/auth/tokens"
	return len(r.URL.Path) >= len(path) && r.URL.Path[len(r.URL.Path)-len(path):] == path
}

// allowed looks at the fence, unless that was just done and it was open.
func (g *Guard) allowed(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.last == nil && !g.at.IsZero() && time.Since(g.at) < memory {
		return nil
	}
	g.last, g.at = g.Check(ctx), time.Now()
	return g.last
}
