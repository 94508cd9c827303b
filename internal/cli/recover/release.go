package recover

import (
	"context"
	"fmt"
	"strings"

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

// unpause starts the stopped controllers, revokes the former credentials and releases
// the clusters in waves.
func (r *rebuild) unpause(ctx context.Context, on *kube.Cluster, seen *site.Site, step *event.Step) (string, error) {
	if r.cluster == "" {
		if err := r.revoke(ctx, step); err != nil {
			return "", err
		}
		if err := restore.StartControllers(ctx, on, step.Wait); err != nil {
			return "", err
		}
	}
	waves := r.result.Waves
	total := 0
	for _, wave := range waves {
		total += len(wave.Clusters)
	}
	cloud := seen.Cloud()
	u := recovery.Unpause{Gate: gate{on, r.plan.Holdable()}, Waves: waves, Look: seen.Running, Before: cloud.Inventory, Expected: recovery.Expect(r.plan, cloud),
		Watch: r.watch, Every: recovery.UsualEvery, Patience: recovery.UsualPatience, Progress: step.Wait}
	if err := u.Run(ctx); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d clusters in %d waves; nothing changed in the cloud", total, len(waves)), nil
}

// gate releases and holds what belongs to a cluster.
type gate struct {
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

// Settled implements recovery.Gate: Cluster API says of the Cluster that it is not
// paused, or that somebody else paused it before the backup.
func (g gate) Settled(ctx context.Context, cluster string) (bool, string, error) {
	namespace, name, _ := strings.Cut(cluster, "/")
	return restore.Unpaused(ctx, g.on, namespace, name)
}
