package main

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/sets"

	config "github.com/cert-manager/cert-manager/internal/apis/config/controller"
	"github.com/cert-manager/cert-manager/internal/pem"
	"github.com/cert-manager/cert-manager/pkg/controller"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
)

// process is one running controller program.
type process struct {
	cfg     *config.ControllerConfiguration
	group   *errgroup.Group // every goroutine; the first error ends all of them
	factory *controller.ContextFactory
	base    *controller.Context // its informers are shared by all controllers
}

func run(ctx context.Context, cfg *config.ControllerConfiguration) error {
	limits := &cfg.PEMSizeLimitsConfig
	pem.SetGlobalSizeLimits(pem.NewSizeLimitsFromConfig(
		limits.MaxCertificateSize, limits.MaxPrivateKeySize, limits.MaxChainLength, limits.MaxBundleSize))

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	p, err := newProcess(ctx, group, cfg)
	if err != nil {
		return err
	}
	if err := p.start(ctx); err != nil {
		cancel()
		return errors.Join(err, group.Wait())
	}
	err = group.Wait()
	p.stopInformers()
	return err
}

func newProcess(ctx context.Context, group *errgroup.Group, cfg *config.ControllerConfiguration) (*process, error) {
	options, err := contextOptions(cfg)
	if err != nil {
		return nil, err
	}
	factory, err := controller.NewContextFactory(ctx, options)
	if err != nil {
		return nil, err
	}
	base, err := factory.Build()
	if err != nil {
		return nil, err
	}
	return &process{cfg: cfg, group: group, factory: factory, base: base}, nil
}

// start starts the servers, and the controllers once this process is the leader.
func (p *process) start(ctx context.Context) error {
	if err := p.serveMetrics(ctx); err != nil {
		return fmt.Errorf("serving metrics: %w", err)
	}
	if err := p.serveProfiler(ctx); err != nil {
		return fmt.Errorf("serving profiler: %w", err)
	}
	health, err := p.serveHealth(ctx)
	if err != nil {
		return fmt.Errorf("serving health: %w", err)
	}
	elected, err := p.elect(ctx, health)
	if err != nil {
		return fmt.Errorf("electing leader: %w", err)
	}
	p.group.Go(func() error {
		select {
		case <-ctx.Done():
			return nil
		case <-elected:
			return p.startControllers(ctx)
		}
	})
	return nil
}

func (p *process) startControllers(ctx context.Context) error {
	log := logf.FromContext(ctx)
	names := sets.List(enabledControllers(p.cfg))
	log.V(logf.InfoLevel).Info("starting controllers", "controllers", names)
	for _, name := range names {
		construct, known := controller.Known()[name]
		if !known { // of Venafi's, and an experiment
			log.Info("leaving out a controller that is not part of this build", "controller", name)
			continue
		}
		c, err := construct(p.factory)
		if err != nil {
			return fmt.Errorf("starting controller %s: %w", name, err)
		}
		p.group.Go(func() error {
			err := c.Run(p.cfg.NumberOfConcurrentWorkers, ctx)
			if err != nil && ctx.Err() == nil { // caches that do not fill because of a stop are no error
				return fmt.Errorf("running controller %s: %w", name, err)
			}
			return nil
		})
	}
	p.startInformers(ctx)
	return nil
}

// startInformers comes after the controllers: only informers that someone has
// asked for are started.
func (p *process) startInformers(ctx context.Context) {
	p.base.SharedInformerFactory.Start(ctx.Done())
	p.base.KubeSharedInformerFactory.Start(ctx.Done())
	p.base.HTTP01ResourceMetadataInformersFactory.Start(ctx.Done())
	if gatewayAPI(p.cfg) {
		p.base.GWShared.Start(ctx.Done())
	}
}

func (p *process) stopInformers() {
	p.base.GWShared.Shutdown()
	p.base.HTTP01ResourceMetadataInformersFactory.Shutdown()
	p.base.KubeSharedInformerFactory.Shutdown()
	p.base.SharedInformerFactory.Shutdown()
}
