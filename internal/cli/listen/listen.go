// Package listen serves HTTP at an address that the user names, with or without a
// certificate, until the context ends.
package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Options are the flags of a command that serves.
type Options struct {
	// Address is host:port; without a host it is all addresses of the machine.
	Address string
	// Certificate and Key are paths of PEM files, both or none. They are reloaded
	// when they change.
	Certificate, Key string
	// Shutdown is how long open requests may take to finish when the context ends.
	Shutdown time.Duration
}

// Flags adds the flags; what names the service in one word.
func (o *Options) Flags(f *pflag.FlagSet, address, what string) {
	f.StringVar(&o.Address, "listen", address, "address of the "+what)
	f.StringVar(&o.Certificate, "tls-cert", "", "PEM file with the certificate, reloaded when it changes; without one the "+what+" is plain HTTP")
	f.StringVar(&o.Key, "tls-key", "", "PEM file with the key of the certificate")
	f.DurationVar(&o.Shutdown, "shutdown-timeout", 30*time.Second, "how long open requests may take to finish after a signal")
}

// Check validates the flags.
func (o *Options) Check() error {
	if (o.Certificate == "") != (o.Key == "") {
		return fault.Usage("--tls-cert and --tls-key", errors.New("only one of the two is given"), "give both, or none for plain HTTP")
	}
	return nil
}

// Hooks are called when serving begins and ends.
type Hooks struct {
	// Serving is called with the address when connections are accepted.
	Serving func(address net.Addr)
	// Ending is called when the context has ended, before connections are refused.
	Ending func()
}

// Serve serves until ctx ends; then it lets open requests finish.
func (o *Options) Serve(ctx context.Context, server *http.Server, hooks Hooks) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Address)
	if err != nil {
		return fault.New("--listen "+o.Address, err, "give host:port with an address of this machine and a free port")
	}
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	serve := func() error { return server.Serve(listener) }
	if o.Certificate != "" {
		watcher, err := certwatcher.New(o.Certificate, o.Key)
		if err != nil {
			listener.Close()
			return fault.Usage("--tls-cert and --tls-key", err, "give a certificate and its key in PEM")
		}
		go watcher.Start(work) //nolint:errcheck // the certificate read last stays
		server.TLSConfig = &tls.Config{GetCertificate: watcher.GetCertificate, MinVersion: tls.VersionTLS12}
		serve = func() error { return server.ServeTLS(listener, "", "") }
	}
	served := make(chan error, 1)
	go func() { served <- serve() }()
	hooks.Serving(listener.Addr())
	select {
	case err := <-served:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	hooks.Ending()
	ending, cancel := context.WithTimeout(work, o.Shutdown)
	defer cancel()
	if err := server.Shutdown(ending); err != nil {
		return fault.New("open requests", err, "raise --shutdown-timeout to let them finish")
	}
	return nil
}
