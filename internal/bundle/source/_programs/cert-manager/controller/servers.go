package main

import (
	"context"
	"errors"
	"net"

	"github.com/cert-manager/cert-manager/pkg/healthz"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/server"
	"github.com/cert-manager/cert-manager/slipway/serving"
)

// component is the name of the controller's lease and of its secrets.
const component = "cert-manager"

func (p *process) serveMetrics(ctx context.Context) error {
	tls := &p.cfg.MetricsTLSConfig
	certificates := serving.CertificateSource(*tls, p.base.RESTConfig, component)
	listener, err := server.Listen(ctx, "tcp", p.cfg.MetricsListenAddress,
		server.WithCertificateSource(certificates),
		server.WithTLSCipherSuites(tls.CipherSuites),
		server.WithTLSMinVersion(tls.MinTLSVersion))
	if err != nil {
		return err
	}
	if certificates != nil {
		p.group.Go(func() error {
			if err := certificates.Start(ctx); !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		})
	}
	p.collect()
	logf.FromContext(ctx).V(logf.InfoLevel).Info("serving metrics", "address", listener.Addr(), "tls", certificates != nil)
	p.group.Go(func() error { return serving.HTTP(ctx, p.base.Metrics.NewServer(listener), listener) })
	return nil
}

// collect adds the metrics that are read from the resources themselves. A
// controller in one namespace may not read ClusterIssuers.
func (p *process) collect() {
	certificates := p.base.SharedInformerFactory.Certmanager().V1()
	p.base.Metrics.SetupACMECollector(p.base.SharedInformerFactory.Acme().V1().Challenges().Lister())
	p.base.Metrics.SetupCertificateCollector(certificates.Certificates().Lister())
	p.base.Metrics.SetupIssuerCollector(certificates.Issuers().Lister())
	if p.cfg.Namespace == "" {
		p.base.Metrics.SetupClusterIssuerCollector(certificates.ClusterIssuers().Lister())
	}
}

func (p *process) serveProfiler(ctx context.Context) error {
	if !p.cfg.EnablePprof {
		return nil
	}
	listener, err := listen(ctx, p.cfg.PprofAddress)
	if err != nil {
		return err
	}
	p.group.Go(func() error { return serving.HTTP(ctx, serving.Profiler(), listener) })
	return nil
}

// serveHealth serves /livez, which fails when the lease is lost and the process
// hangs on, or when the clock has jumped.
func (p *process) serveHealth(ctx context.Context) (*healthz.Server, error) {
	listener, err := listen(ctx, p.cfg.HealthzListenAddress)
	if err != nil {
		return nil, err
	}
	health := healthz.NewServer(p.cfg.LeaderElectionConfig.HealthzTimeout)
	p.group.Go(func() error { return health.Start(ctx, listener) })
	return health, nil
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig
	return config.Listen(ctx, "tcp", address)
}
