package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/slipway-sh/slipway/addons/openstackapi"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/api"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/view"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/worker"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/ui"
)

// serve runs the API and the worker until ctx is cancelled.
func (o *vnflcmOptions) serve(ctx context.Context, streams ui.Streams) error {
	if err := o.check(); err != nil {
		return err
	}
	defer collectOften()()
	s, err := o.start(streams, "vnflcm", &o.identity)
	if err != nil {
		return err
	}
	o.api.Log = slog.New(logr.ToSlogHandler(s.log.named("vnflcm")))
	if o.installCRDs {
		if err := install(ctx, s.config, v1alpha1.GroupVersion(), vnflcm.CRDs); err != nil {
			return err
		}
	}
	return o.run(ctx, s.config, s.login, s.log)
}

// run assembles the endpoint and starts all its parts.
func (o *vnflcmOptions) run(ctx context.Context, config *rest.Config, login *cloud.Login, log logger) error {
	m, err := o.assemble(config, log)
	if err != nil {
		return err
	}
	a := o.api
	if a.Observe, err = openstackapi.Meter(metrics.Registry, "vnflcm", "VNF lifecycle management API"); err != nil {
		return err
	}
	a.Worker, a.Addresses, a.AuthURL, a.Tokens = &o.worker, o.links, o.identityURL(login.AuthURL()), o.tokens(login, "public")
	handler, err := api.New(a)
	if err != nil {
		return err
	}
	work, stop := context.WithCancel(context.WithoutCancel(ctx)) // notifications go on while requests are drained
	defer stop()
	group, work := errgroup.WithContext(work)
	group.Go(func() error {
		if err := m.Start(work); err != nil {
			return fault.New("worker of vnflcm", err, "see the log above for what happened before")
		}
		return nil
	})
	group.Go(func() error { return serveMetrics(work, o.metricsAddress, nil) })
	group.Go(func() error {
		defer stop()
		return (&drained{Handler: handler}).listen(ctx, o.at, a.RequestTime, o.drain, a.Log)
	})
	return group.Wait()
}

// assemble makes the manager of the worker, and fills in the worker's clients.
func (o *vnflcmOptions) assemble(config *rest.Config, log logger) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("kinds of the API: %w", err)
	}
	m, err := manager.New(config, manager.Options{
		Scheme: scheme, Logger: log.named("vnflcm"), LeaderElection: o.election, LeaderElectionID: "slipway-vnflcm", LeaderElectionNamespace: o.electionNamespace,
		LeaderElectionReleaseOnCancel: true, Metrics: server.Options{BindAddress: noServer}, HealthProbeBindAddress: noServer,
	})
	if err != nil {
		return nil, fault.New("kubeconfig", err, "check that the cluster answers")
	}
	w := &o.worker
	if w.Client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return nil, fault.New("kubeconfig", err, "check that the cluster answers")
	}
	if w.Kube, err = kube.New(config); err != nil {
		return nil, err
	}
	w.Config, w.Links, w.Log = config, view.Links{Base: o.links.Public}, o.api.Log
	if len(w.Endpoints) == 0 {
		w.Endpoints = []string{config.Host}
	}
	if err := w.Prepare(); err != nil {
		return nil, err
	}
	return m, worker.Setup(m, w)
}
