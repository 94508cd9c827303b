package target

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// probeTime is how long a cluster may take until it answers.
	probeTime = 10 * time.Second
	// trustTime is how long an answer is relied on.
	trustTime = 10 * time.Second
	// downTime is for how long a cluster that did not answer is not asked again; it doubles up to
	// maxDownTime.
	downTime    = 15 * time.Second
	maxDownTime = 5 * time.Minute
)

// reach is what is known about whether a cluster answers.
type reach struct {
	probing chan struct{} // has a place for the one who asks
	until   time.Time
	err     error
	down    time.Duration
}

func newReach() *reach { return &reach{probing: make(chan struct{}, 1)} }

// UnreachableError is a cluster that does not answer.
type UnreachableError struct {
	Err error
	// Retry is when the cluster is asked again.
	Retry time.Time
}

// Error says that the cluster does not answer, and why.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("the cluster does not answer: %v", e.Err)
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// Reach makes sure that a cluster answers before work takes a place. A cluster that does not answer
// costs one request now and then, however much work there is.
func (c *Clusters) Reach(ctx context.Context, key types.NamespacedName, cluster *Cluster) error {
	r := c.reachOf(key) // a new kubeconfig brings another one meanwhile
	select {
	case r.probing <- struct{}{}:
		defer func() { <-r.probing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if time.Now().Before(r.until) {
		return r.answer()
	}
	probe, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	_, err := cluster.Typed.Discovery().RESTClient().Get().AbsPath("/version").DoRaw(probe)
	if err != nil && ctx.Err() != nil { // who asked went away: that says nothing of the cluster
		return ctx.Err()
	}
	if r.err = err; err == nil {
		r.down, r.until = 0, time.Now().Add(trustTime)
		return nil
	}
	r.down = min(max(2*r.down, downTime), maxDownTime)
	r.until = time.Now().Add(r.down)
	return r.answer()
}

func (r *reach) answer() error {
	if r.err == nil {
		return nil
	}
	return &UnreachableError{r.err, r.until}
}
