package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/slipway-sh/slipway/internal/cli/listen"
	"github.com/slipway-sh/slipway/internal/fault"
)

const (
	// headerTime bounds how long a client may take to send headers.
	headerTime = 10 * time.Second
	// connectionTime is how old a connection gets, idle or not. It may lead through a node that
	// is left out of load balancers by now, and will be gone (package noderemoval).
	connectionTime = 25 * time.Second
)

// drained makes the health check answer 503 while the process shuts down.
type drained struct {
	http.Handler
	ending atomic.Bool
}

// ServeHTTP implements http.Handler.
func (d *drained) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if d.ending.Load() && r.URL.Path == "/healthcheck" {
		http.Error(w, "ENDING", http.StatusServiceUnavailable)
		return
	}
	d.Handler.ServeHTTP(w, r)
}

// listen serves until ctx is cancelled, then drains.
func (d *drained) listen(ctx context.Context, at listen.Options, request, drain time.Duration, log *slog.Logger) error {
	server := aged(d, connectionTime)
	server.ReadHeaderTimeout, server.ReadTimeout, server.WriteTimeout = headerTime, request, 2*request
	return at.Serve(ctx, server, listen.Hooks{
		Serving: func(address net.Addr) {
			log.Info("serving", "address", address.String(), "tls", at.Certificate != "")
		},
		Ending: func() {
			log.Info("draining", "for", drain)
			d.ending.Store(true)
			time.Sleep(drain)
		},
	})
}

type connectedKey struct{}

// aged is a server that ends connections of an age: with the answer to a request, or when they are
// idle for so long.
func aged(handler http.Handler, age time.Duration) *http.Server {
	return &http.Server{
		IdleTimeout: age,
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, connectedKey{}, time.Now())
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if since, ok := r.Context().Value(connectedKey{}).(time.Time); ok && time.Since(since) >= age {
				w.Header().Set("Connection", "close")
			}
			handler.ServeHTTP(w, r)
		}),
	}
}

// serveMetrics serves Prometheus metrics, and what else is for this network alone.
func serveMetrics(ctx context.Context, address string, more map[string]http.Handler) error {
	if address == noServer {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fault.New("--metrics-address "+address, err, "give a free address, or 0")
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{}))
	for path, handler := range more {
		mux.Handle(path, handler)
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: headerTime}
	context.AfterFunc(ctx, func() { server.Close() }) //nolint:errcheck // it ends either way
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving metrics: %w", err)
	}
	return nil
}
