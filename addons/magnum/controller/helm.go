package controller

import (
	"context"
	"log/slog"
	"sync"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/helm"
)

// Releases makes Helm releases in namespaces.
type Releases interface {
	// Last is the last revision, nil if there is none.
	Last(ctx context.Context, namespace, name string) (*helmrelease.Release, error)
	// Ensure makes a release so; changed is false if it was.
	Ensure(ctx context.Context, namespace string, w helm.Wanted) (r *helmrelease.Release, changed bool, err error)
	// Uninstall deletes a release; there may be none.
	Uninstall(ctx context.Context, namespace, name string) error
}

// helmReleases are releases on the manager's cluster. Helm renders and decodes
// whole manifests, so only a few are worked on at a time.
type helmReleases struct {
	config *rest.Config
	log    *slog.Logger
	places chan struct{}

	mu      sync.Mutex
	clients map[string]*helm.Client
}

const (
	// helmParallel is how many releases are worked on at a time.
	helmParallel = 4
	// helmTimeout is magnum-capi-helm's.
	helmTimeout = 5 * time.Minute
)

func newHelmReleases(config *rest.Config, log *slog.Logger) *helmReleases {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = -1, -1 // the API server's own fairness decides
	return &helmReleases{config: config, log: log, places: make(chan struct{}, helmParallel), clients: map[string]*helm.Client{}}
}

// client is one for a namespace: it keeps what it learned of kinds.
func (h *helmReleases) client(namespace string) (*helm.Client, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.clients[namespace]; c != nil {
		return c, nil
	}
	c, err := helm.New(h.config, namespace, h.log)
	if err != nil {
		return nil, err
	}
	h.clients[namespace] = c
	return c, nil
}

// with works with the client of a namespace when there is a place.
func (h *helmReleases) with(ctx context.Context, namespace string, do func(*helm.Client) error) error {
	select {
	case h.places <- struct{}{}:
		defer func() { <-h.places }()
	case <-ctx.Done():
		return ctx.Err()
	}
	c, err := h.client(namespace)
	if err != nil {
		return err
	}
	return do(c)
}

func (h *helmReleases) Last(ctx context.Context, namespace, name string) (r *helmrelease.Release, err error) {
	err = h.with(ctx, namespace, func(c *helm.Client) (err error) { r, err = c.Last(name); return err })
	return r, err
}

func (h *helmReleases) Ensure(ctx context.Context, namespace string, w helm.Wanted) (r *helmrelease.Release, changed bool, err error) {
	// A change that was begun is brought to its end, or it would be found
	// interrupted by the next process.
	ctx = context.WithoutCancel(ctx)
	w.Timeout = helmTimeout
	err = h.with(ctx, namespace, func(c *helm.Client) (err error) { r, changed, err = c.Ensure(ctx, w); return err })
	return r, changed, err
}

func (h *helmReleases) Uninstall(ctx context.Context, namespace, name string) error {
	return h.with(ctx, namespace, func(c *helm.Client) error { _, err := c.Uninstall(name, helmTimeout); return err })
}
