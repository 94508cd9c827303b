package listen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
)

const (
	// patience is how long a browser may take to send the head of a request.
	patience = 10 * time.Second
	// ending is how long open requests of a browser may take to finish.
	ending = 3 * time.Second
	// headers bounds the head of a request, in bytes.
	headers = 64 << 10
)

// Loopback refuses an address of --listen that other machines could reach.
func Loopback(address string) error {
	const fix = "give 127.0.0.1:PORT, [::1]:PORT or localhost:PORT; for another machine use ssh -L"
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fault.Usage("--listen "+address, err, fix)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fault.Usage("--listen "+address, errors.New("this is for your machine only"), fix)
	}
	return nil
}

// Browser serves pages to a browser of this machine until ctx ends, which is how it is meant
// to end: requests that are open then have three seconds.
func Browser(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: patience, IdleTimeout: time.Minute, MaxHeaderBytes: headers,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), ending)
	defer cancel()
	if server.Shutdown(last) != nil {
		server.Close()
	}
	return nil
}
