package recover

import (
	"context"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/recovery/restore"
	"github.com/slipway-sh/slipway/internal/recovery/site"
)

// controllers are the versions that the new management cluster has, by the names of
// the snapshot: those of clusterctl's providers.
func (r *rebuild) controllers() (map[string]string, error) {
	if r.running != nil {
		return r.running, nil
	}
	folder, err := bundle.Open(string(r.t.Environment.Spec.Bundle))
	if err != nil {
		return nil, err
	}
	versions := map[string]string{}
	for _, p := range component.Providers(component.VersionsIn(folder.Bill())) {
		versions[p.Label] = p.Version
	}
	return versions, nil
}

// unpause revokes the former credentials, starts the stopped controllers and releases
// the clusters in waves. Those controllers know no pause, so the waves need not wait for
// them; if one cannot start while the waves go on, all clusters are paused again. What is of
// several clusters follows them.
func (r *rebuild) unpause(ctx context.Context, on *kube.Cluster, seen *site.Site, step *event.Step) (string, error) {
	group, working := errgroup.WithContext(ctx)
	var released atomic.Bool
	if r.cluster == "" {
		if err := r.revoke(ctx, step); err != nil {
			return "", err
		}
		group.Go(func() error {
			return restore.StartControllers(working, on, func(what string) {
				if released.Load() {
					step.Wait(what)
				}
			})
		})
	}
	waves := r.result.Waves
	total := 0
	for _, wave := range waves {
		total += len(wave.Clusters)
	}
	cloud := seen.Cloud()
	u := recovery.Unpause{Gate: gate{restore.NewSight(on, r.plan), on, r.plan.Holdable()}, Waves: waves, Look: seen.Running, Before: cloud.Inventory, Expected: recovery.Expect(r.plan, cloud),
		Watch: r.watch, Every: recovery.UsualEvery, Patience: recovery.UsualPatience, Progress: step.Wait}
	group.Go(func() error {
		err := u.Run(working)
		released.Store(true)
		return err
	})
	if err := group.Wait(); err != nil {
		return "", err
	}
	if err := r.releaseLoose(ctx, on, r.leave); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d clusters in %d waves; nothing changed in the cloud", total, len(waves)), nil
}

// releaseLoose releases what is of no cluster alone, except beside those that are left paused.
func (r *rebuild) releaseLoose(ctx context.Context, on *kube.Cluster, left []string) error {
	for _, o := range r.plan.Loose(left) {
		if err := restore.Release(ctx, on, o); err != nil {
			return err
		}
	}
	return nil
}

// gate releases and holds what belongs to a cluster.
type gate struct {
	*restore.Sight
	on *kube.Cluster
	// held are the objects to release by cluster, the Cluster first.
	held map[string][]*unstructured.Unstructured
}

// Release implements recovery.Gate.
func (g gate) Release(ctx context.Context, cluster string) error {
	for _, o := range g.held[cluster] {
		if err := restore.Release(ctx, g.on, o); err != nil {
			return err
		}
	}
	return nil
}

// Pause implements recovery.Gate: the Cluster first.
func (g gate) Pause(ctx context.Context, cluster string) error {
	for _, o := range g.held[cluster] {
		if err := restore.Pause(ctx, g.on, o); err != nil {
			return err
		}
	}
	return nil
}
