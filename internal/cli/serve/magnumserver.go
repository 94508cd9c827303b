package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/slipway-sh/slipway/addons/magnum"
	"github.com/slipway-sh/slipway/addons/magnum/api"
	"github.com/slipway-sh/slipway/addons/magnum/inventory"
	"github.com/slipway-sh/slipway/addons/magnum/openstack"
	"github.com/slipway-sh/slipway/addons/magnum/peer"
	"github.com/slipway-sh/slipway/addons/magnum/router"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// serve runs the API until ctx is cancelled.
func (o *magnumOptions) serve(ctx context.Context, streams ui.Streams) error {
	if err := o.check(); err != nil {
		return err
	}
	defer collectOften()()
	s, err := o.start(streams, "magnum", &o.identity)
	if err != nil {
		return err
	}
	o.api.Log = slog.New(logr.ToSlogHandler(s.log.named("magnum")))
	if o.installCRDs {
		if err := install(ctx, s.config, v1alpha1.GroupVersion(), magnum.CRDs); err != nil {
			return err
		}
	}
	return o.run(ctx, s.config, s.login)
}

// run assembles the server and starts all its parts.
func (o *magnumOptions) run(ctx context.Context, config *rest.Config, login *cloud.Login) error {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("kinds of the API: %w", err)
	}
	kubeClient, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fault.New("kubeconfig", err, "check that the cluster answers")
	}
	reads := cache.Options{Scheme: scheme, DefaultTransform: cache.TransformStripManagedFields()}
	if service, ok := o.peerService(); ok {
		reads.ByObject = peer.Slices(service)
	}
	store, err := cache.New(config, reads)
	if err != nil {
		return fault.New("kubeconfig", err, "check that the cluster answers")
	}
	work, stop := context.WithCancel(context.WithoutCancel(ctx)) // reads go on while requests are drained
	defer stop()
	group, work := errgroup.WithContext(work)
	group.Go(func() error { return store.Start(work) })
	server, err := o.server(ctx, work, kubeClient, store, login)
	if err != nil {
		stop()
		return errors.Join(err, group.Wait())
	}
	if err := forgetStart(); err != nil {
		o.api.Log.Warn("memory of the start is not released", "error", err.Error())
	}
	group.Go(func() error {
		return serveMetrics(work, o.metricsAddress, map[string]http.Handler{peer.Path: peer.Handler(server.stock)})
	})
	group.Go(func() error {
		defer stop()
		return server.listen(ctx, o.at, o.api.RequestTime, o.drain, o.api.Log)
	})
	return group.Wait()
}

// server makes the API's handler.
func (o *magnumOptions) server(ctx, work context.Context, kubeClient client.Client, store cache.Cache, login *cloud.Login) (*stocked, error) {
	starting, cancel := context.WithCancel(ctx) // a signal ends the wait for the cluster
	defer cancel()
	stock, err := inventory.New(starting, store)
	if err != nil {
		return nil, fault.New("resources of magnum.slipway.sh", err, "install the CustomResourceDefinitions: slipway serve magnum --install-crds")
	}
	observe, err := api.Meter(metrics.Registry)
	if err != nil {
		return nil, err
	}
	o.credentials.Region, o.credentials.Insecure = login.Region(), login.Insecure
	a := o.api
	a.Client, a.Inventory, a.Observe, a.Credentials, a.Quota = kubeClient, stock, observe, o.credentials, o.quota
	a.Tokens = o.tokens(login, o.credentials.Interface)
	a.Cloud = &openstack.Cloud{HTTP: login.HTTP()}
	a.AuthURL = o.identityURL(login.AuthURL())
	if a.Lease, err = o.leaseName(); err != nil {
		return nil, err
	}
	if a.Peers, err = o.replicas(starting, store); err != nil {
		return nil, err
	}
	handler, err := api.New(a)
	if err != nil {
		return nil, fault.Usage("--public-endpoint", err, "give a URL such as https://cloud.example:9511/v1")
	}
	if len(o.front.Members) == 0 {
		return &stocked{drained{Handler: handler}, stock}, nil
	}
	front, err := o.before(work, a, handler, store)
	if err != nil {
		return nil, err
	}
	return &stocked{drained{Handler: front}, stock}, nil
}

// before is the router before this API and those of other management clusters.
func (o *magnumOptions) before(work context.Context, a api.Options, own http.Handler, placements cache.Cache) (*router.Server, error) {
	known, err := placements.GetInformer(work, &v1alpha1.Placement{})
	if err != nil {
		return nil, fault.New("resources of magnum.slipway.sh", err, "install the CustomResourceDefinitions: slipway serve magnum --install-crds")
	}
	r := o.front
	r.Members[0].Handler = own
	r.Client, r.Placements, r.Synced = a.Client, placements, func() bool { return known.HasSynced() && a.Inventory.Synced() }
	r.Tokens, r.Policy, r.Log, r.AuthURL = a.Tokens, a.Policy, a.Log, a.AuthURL
	r.PublicEndpoint, r.TrustForwarded, r.MaxLimit, r.MaxBody = a.PublicEndpoint, a.TrustForwarded, a.MaxLimit, a.MaxBody
	r.MaxReads, r.MaxWrites, r.RequestTime = a.MaxReads, a.MaxWrites, a.RequestTime+routerTime
	if r.Observe, err = meterRouter(); err != nil {
		return nil, err
	}
	return router.New(r)
}

// routerTime is how much longer a router waits than an API that it waits for.
const routerTime = 2 * time.Second

// replicas are those to wait for; nil is none.
func (o *magnumOptions) replicas(starting context.Context, store cache.Cache) (api.Replicas, error) {
	if o.peers == "" {
		return nil, nil
	}
	if service, ok := o.peerService(); ok {
		// Now, not with the first write.
		if _, err := store.GetInformer(starting, &discoveryv1.EndpointSlice{}); err != nil {
			return nil, fault.New(fmt.Sprintf("EndpointSlices of the Service %s (--peers)", service), err, "allow the service account to get, list and watch endpointslices in that namespace")
		}
		return peer.NewGroup(peer.Behind(store, service), o.api.Log), nil
	}
	named, err := peer.Named(o.peers)
	if err != nil {
		return nil, err
	}
	return peer.NewGroup(named, o.api.Log), nil
}

// stocked is the API's handler with what it reads.
type stocked struct {
	drained
	stock *inventory.Inventory
}
