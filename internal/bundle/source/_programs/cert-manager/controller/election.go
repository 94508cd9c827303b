package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/cert-manager/cert-manager/pkg/healthz"
)

// lease is upstream's name, so that controllers of both builds never work side
// by side.
const lease = component + "-controller"

// elect takes part in the election and closes the channel when this process
// leads. Losing the lease later is an error, which ends the process.
func (p *process) elect(ctx context.Context, health *healthz.Server) (<-chan struct{}, error) {
	elected := make(chan struct{})
	if !p.cfg.LeaderElectionConfig.Enabled {
		close(elected)
		return elected, nil
	}
	lock, err := p.lock()
	if err != nil {
		return nil, err
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            lock,
		Name:            lease,
		LeaseDuration:   p.cfg.LeaderElectionConfig.LeaseDuration,
		RenewDeadline:   p.cfg.LeaderElectionConfig.RenewDeadline,
		RetryPeriod:     p.cfg.LeaderElectionConfig.RetryPeriod,
		ReleaseOnCancel: true,
		WatchDog:        health.LeaderHealthzAdaptor,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(elected) },
			OnStoppedLeading: func() {}, // Run returns then
		},
	})
	if err != nil {
		return nil, err
	}
	p.group.Go(func() error {
		elector.Run(ctx)
		if ctx.Err() == nil {
			return errors.New("keeping the lease: it was lost")
		}
		return nil
	})
	return elected, nil
}

// lock is the lease. Its client is apart from the controllers', which may use
// up their rate limit.
func (p *process) lock() (resourcelock.Interface, error) {
	base, err := p.factory.Build("leader-election")
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("reading host name: %w", err)
	}
	return resourcelock.New(resourcelock.LeasesResourceLock, p.cfg.LeaderElectionConfig.Namespace, lease,
		base.Client.CoreV1(), base.Client.CoordinationV1(), resourcelock.ResourceLockConfig{
			Identity:      host + "-external-" + lease,
			EventRecorder: base.Recorder,
		})
}
