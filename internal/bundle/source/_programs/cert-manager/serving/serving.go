// Package serving has the HTTP servers beside a program's work: metrics,
// health and profiler.
package serving

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/cert-manager/cert-manager/internal/apis/config/shared"
	"github.com/cert-manager/cert-manager/pkg/server/tls"
	"github.com/cert-manager/cert-manager/pkg/server/tls/authority"
	"github.com/cert-manager/cert-manager/pkg/util/profiling"
)

const (
	// gracePeriod is what open requests have left when the program stops.
	gracePeriod = 5 * time.Second
	// headerTimeout bounds how slowly a client may send its headers; the
	// Kubernetes API server uses the same.
	headerTimeout = 32 * time.Second
)

// HTTP serves until ctx ends and then lets open requests finish. It returns nil
// after a stop in order.
func HTTP(ctx context.Context, server *http.Server, listener net.Listener) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), gracePeriod)
		defer cancel()
		return server.Shutdown(ctx)
	})
	return group.Wait()
}

// Profiler is a server of Go's profiler at /debug/pprof.
func Profiler() *http.Server {
	mux := http.NewServeMux()
	profiling.Install(mux)
	return &http.Server{Handler: mux, ReadHeaderTimeout: headerTimeout}
}

// CertificateSource has the certificates of an endpoint: from files, or signed
// by a CA in a secret that is labelled as managed by the owner. It is nil if
// the endpoint is to be served without TLS.
func CertificateSource(c shared.TLSConfig, client *rest.Config, owner string) tls.CertificateSource {
	switch {
	case c.FilesystemConfigProvided():
		return &tls.FileCertificateSource{CertPath: c.Filesystem.CertFile, KeyPath: c.Filesystem.KeyFile}
	case c.DynamicConfigProvided():
		return &tls.DynamicSource{
			DNSNames: c.Dynamic.DNSNames,
			Authority: &authority.DynamicAuthority{
				SecretNamespace: c.Dynamic.SecretNamespace,
				SecretName:      c.Dynamic.SecretName,
				SecretLabels:    map[string]string{"app.kubernetes.io/managed-by": owner},
				LeafDuration:    c.Dynamic.LeafDuration,
				RESTConfig:      client,
			},
		}
	}
	return nil
}
