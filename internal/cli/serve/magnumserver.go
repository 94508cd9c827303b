package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/slipway-sh/slipway/addons/magnum"
	"github.com/slipway-sh/slipway/addons/magnum/api"
	"github.com/slipway-sh/slipway/addons/magnum/inventory"
	"github.com/slipway-sh/slipway/addons/magnum/keystone"
	"github.com/slipway-sh/slipway/addons/magnum/openstack"
	"github.com/slipway-sh/slipway/addons/magnum/peer"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/listen"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/ui"
)

// headerTime bounds how long a client may take to send headers.
const headerTime = 10 * time.Second

// serve runs the API until ctx is cancelled.
func (o *magnumOptions) serve(ctx context.Context, streams ui.Streams) error {
	if err := o.check(); err != nil {
		return err
	}
	log, err := newLogger(streams.Err, o.logLevel, o.logFormat)
	if err != nil {
		return err
	}
	log.install()
	defer collectOften()()
	o.api.Log = slog.New(logr.ToSlogHandler(log.named("magnum")))
	config, err := o.config()
	if err != nil {
		return err
	}
	config.UserAgent = fmt.Sprintf("slipway/%s (magnum)", component.SlipwayVersion())
	login, err := cloud.Find(cloud.Options{Cloud: o.cloud, Region: o.region, Env: environment.System(), CABundle: o.credentials.CACert})
	if err != nil {
		return err
	}
	if o.installCRDs {
		if err := installMagnum(ctx, config); err != nil {
			return err
		}
	}
	return o.run(ctx, config, login)
}

// installMagnum applies the CustomResourceDefinitions.
func installMagnum(ctx context.Context, config *rest.Config) error {
	cluster, err := kube.New(config)
	if err != nil {
		return err
	}
	files, err := magnum.CRDs()
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := cluster.Apply(ctx, text); err != nil {
			return fault.New("definition "+name, err, "allow this user to create CustomResourceDefinitions, or leave --install-crds out")
		}
	}
	return awaitKinds(ctx, config, len(files))
}

// awaitKinds waits until discovery lists n kinds: that happens some time after the
// API server accepted the definitions, and clients do not look again themselves.
func awaitKinds(ctx context.Context, config *rest.Config, n int) error {
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("client for CustomResourceDefinitions: %w", err)
	}
	err = wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		list, err := found.ServerResourcesForGroupVersion(v1alpha1.GroupVersion().String())
		if apierrors.IsNotFound(err) || apierrors.IsServiceUnavailable(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		kinds := 0
		for _, resource := range list.APIResources {
			if !strings.Contains(resource.Name, "/") {
				kinds++
			}
		}
		return kinds >= n, nil
	})
	if err != nil {
		return fault.New("CustomResourceDefinitions of magnum.slipway.sh", err, "check their conditions: kubectl get crd -o yaml")
	}
	return nil
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
	store, err := cache.New(config, cache.Options{Scheme: scheme, DefaultTransform: cache.TransformStripManagedFields()})
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
	group.Go(func() error { return o.metrics(work, server.stock) })
	group.Go(func() error {
		defer stop()
		return o.listen(ctx, server)
	})
	return group.Wait()
}

// server makes the API's handler.
func (o *magnumOptions) server(ctx, work context.Context, kubeClient client.Client, store cache.Cache, login *cloud.Login) (*drained, error) {
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
	a.Tokens = keystone.NewValidator(keystone.Options{Identity: (&serviceUser{login: login}).identity, Remember: o.remember, Region: login.Region(), Interface: o.credentials.Interface})
	a.Cloud = &openstack.Cloud{HTTP: login.HTTP()}
	a.AuthURL = o.identityURL(login.AuthURL())
	if a.Lease, err = o.leaseName(); err != nil {
		return nil, err
	}
	if o.peers != "" {
		if a.Peers, err = peer.NewGroup(o.peers, a.Log); err != nil {
			return nil, err
		}
	}
	handler, err := api.New(a)
	if err != nil {
		return nil, fault.Usage("--public-endpoint", err, "give a URL such as https://cloud.example:9511/v1")
	}
	return &drained{Handler: handler, stock: stock}, nil
}

// serviceUser logs in at the first request that needs it, and again after a
// failure.
type serviceUser struct {
	login *cloud.Login
	mu    sync.Mutex
}

func (u *serviceUser) identity(ctx context.Context) (*gophercloud.ServiceClient, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	c, err := u.login.Open(ctx, environment.UserAgent())
	if err != nil {
		return nil, err
	}
	return c.Identity()
}

// drained makes the health check answer 503 while the process shuts down.
type drained struct {
	http.Handler
	stock  *inventory.Inventory
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
func (o *magnumOptions) listen(ctx context.Context, handler *drained) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTime, ReadTimeout: o.api.RequestTime, WriteTimeout: 2 * o.api.RequestTime, IdleTimeout: 2 * time.Minute}
	return o.at.Serve(ctx, server, listen.Hooks{
		Serving: func(address net.Addr) {
			o.api.Log.Info("serving", "address", address.String(), "tls", o.at.Certificate != "")
		},
		Ending: func() {
			o.api.Log.Info("draining", "for", o.drain)
			handler.ending.Store(true)
			time.Sleep(o.drain)
		},
	})
}

// metrics serves Prometheus metrics, and the requests of other replicas.
func (o *magnumOptions) metrics(ctx context.Context, stock *inventory.Inventory) error {
	if o.metricsAddress == noServer {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.metricsAddress)
	if err != nil {
		return fault.New("--metrics-address "+o.metricsAddress, err, "give a free address, or 0")
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{}))
	mux.Handle(peer.Path, peer.Handler(stock))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: headerTime}
	context.AfterFunc(ctx, func() { server.Close() }) //nolint:errcheck // it ends either way
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving metrics: %w", err)
	}
	return nil
}
