package serve

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/slipway-sh/slipway/addons/magnum"
	"github.com/slipway-sh/slipway/addons/magnum/router"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/addons/openstackapi"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// serve runs the router until ctx is cancelled.
func (o *routerOptions) serve(ctx context.Context, streams ui.Streams) error {
	if err := o.check(); err != nil {
		return err
	}
	defer collectOften()()
	s, err := o.start(streams, "magnum-router", &o.identity)
	if err != nil {
		return err
	}
	o.router.Log = slog.New(logr.ToSlogHandler(s.log.named("magnum-router")))
	if o.installCRDs {
		if err := install(ctx, s.config, v1alpha1.GroupVersion(), magnum.CRDs); err != nil {
			return err
		}
	}
	return o.run(ctx, s.config, s.login)
}

// run assembles the router and starts all its parts.
func (o *routerOptions) run(ctx context.Context, config *rest.Config, login *cloud.Login) error {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return fmt.Errorf("kinds of the API: %w", err)
	}
	kubeClient, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fault.New("kubeconfig", err, "check that the cluster answers")
	}
	placements, err := cache.New(config, cache.Options{Scheme: scheme, DefaultTransform: cache.TransformStripManagedFields()})
	if err != nil {
		return fault.New("kubeconfig", err, "check that the cluster answers")
	}
	r := o.router
	if r.Observe, err = meterRouter(); err != nil {
		return err
	}
	var synced atomic.Bool
	r.Client, r.Placements, r.Synced = kubeClient, placements, synced.Load
	r.AuthURL, r.Tokens = o.identityURL(login.AuthURL()), o.tokens(login, "public")
	handler, err := router.New(r)
	if err != nil {
		return fault.Usage("--public-endpoint", err, "give a URL such as https://cloud.example:9511/v1")
	}
	work, stop := context.WithCancel(context.WithoutCancel(ctx)) // reads go on while requests are drained
	defer stop()
	group, work := errgroup.WithContext(work)
	group.Go(func() error { return placements.Start(work) })
	group.Go(func() error {
		// It waits until they have been read, however long the cluster is away.
		if _, err := placements.GetInformer(work, &v1alpha1.Placement{}); err != nil && work.Err() == nil {
			return fault.New("resources of magnum.slipway.sh", err, "install the CustomResourceDefinitions: slipway serve magnum-router --install-crds")
		}
		synced.Store(true)
		return nil
	})
	group.Go(func() error { return serveMetrics(work, o.metricsAddress, nil) })
	group.Go(func() error {
		defer stop()
		return (&drained{Handler: handler}).listen(ctx, o.at, r.RequestTime, o.drain, r.Log)
	})
	return group.Wait()
}

func meterRouter() (openstackapi.Observer, error) {
	return openstackapi.Meter(metrics.Registry, "magnum_router", "router of Magnum APIs")
}
