package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	controllerlog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/fault"
)

// noServer is controller-runtime's value for "do not serve".
const noServer = "0"

// manager creates the manager of a set. The first one serves metrics and health
// for all, because the metrics registry belongs to the process.
func (o options) manager(config *rest.Config, s set, log logger, first bool, g *barrier) (manager.Manager, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = fmt.Sprintf("slipway/%s (%s)", component.SlipwayVersion(), s.name)
	// Log each warning once: an API server repeats it at every write.
	config.WarningHandlerWithContext = controllerlog.NewKubeAPIWarningLogger(controllerlog.KubeAPIWarningLoggerOptions{Deduplicate: true})
	scheme := runtime.NewScheme()
	if err := s.scheme(scheme); err != nil {
		return nil, fmt.Errorf("kinds of %s: %w", s.name, err)
	}
	settings := manager.Options{
		Scheme: scheme, Logger: log.named(s.name),
		LeaderElection: o.election, LeaderElectionID: "slipway-" + s.name, LeaderElectionNamespace: o.electionNamespace,
		LeaderElectionReleaseOnCancel: true, GracefulShutdownTimeout: &o.shutdown,
		Metrics: server.Options{BindAddress: noServer}, HealthProbeBindAddress: noServer,
		Controller: controllerconfig.Controller{SkipNameValidation: &o.sameNames},
	}
	if first {
		settings.Metrics.BindAddress, settings.HealthProbeBindAddress = o.metricsAddress, o.healthAddress
	}
	m, err := manager.New(config, settings)
	if err != nil {
		return nil, fault.New("controllers "+s.name, err, "check that the cluster answers; outside a pod give --leader-election-namespace or --leader-election=false")
	}
	if err := s.setup(m, g); err != nil {
		return nil, fmt.Errorf("setting up %s: %w", s.name, err)
	}
	return m, nil
}

// healthOf adds the probes of all managers to one: alive while the process
// answers, ready when all caches are synchronised.
func healthOf(m manager.Manager, all []manager.Manager) error {
	if err := m.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("adding the health check: %w", err)
	}
	ready := func(request *http.Request) error {
		ctx, cancel := context.WithTimeout(request.Context(), probeTime)
		defer cancel()
		for _, one := range all {
			if !one.GetCache().WaitForCacheSync(ctx) {
				return errors.New("caches are not synchronised yet")
			}
		}
		return nil
	}
	if err := m.AddReadyzCheck("caches", ready); err != nil {
		return fmt.Errorf("adding the readiness check: %w", err)
	}
	return nil
}

// probeTime bounds a probe; the kubelet waits one second by default.
const probeTime = 500 * time.Millisecond
