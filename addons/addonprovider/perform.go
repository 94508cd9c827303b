package addonprovider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/addons/addonprovider/release"
	"github.com/slipway-sh/slipway/addons/addonprovider/target"
	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/internal/charts"
)

// recorded is what an addon's status records about its release.
type recorded struct {
	revision int
	digest   string
	// pending is whether the release was not ready yet when the status was written.
	pending bool
}

// connect returns a client for a release, with a place on its cluster. The caller leaves the place.
func (r *reconciler) connect(ctx context.Context, d *desired, report *reporter) (*release.Client, *target.Cluster, *target.Place, error) {
	kubeconfig, err := target.Kubeconfig(ctx, r.live, d.cluster)
	if err != nil {
		return nil, nil, nil, err
	}
	if kubeconfig == nil {
		return nil, nil, nil, &waitError{v1alpha1.ReasonClusterNotReady, fmt.Sprintf("Secret %s-kubeconfig is missing", d.cluster.Name)}
	}
	cluster, err := r.clusters.Connect(d.cluster, kubeconfig)
	if err != nil {
		return nil, nil, nil, &release.Error{Kind: release.Refused, Err: err}
	}
	if err := r.clusters.Reach(ctx, d.cluster, cluster); err != nil {
		return nil, nil, nil, err
	}
	place := r.clusters.Place(d.cluster)
	if err := place.Take(ctx); err != nil {
		return nil, nil, nil, err
	}
	client := release.NewClient(cluster, place, d.namespace, d.name)
	client.Timeout, client.History, client.Progress = d.timeout, r.options.HistoryMax, report.progress
	client.Workerless = func(ctx context.Context) bool {
		cluster, err := r.cluster(ctx, d.cluster)
		return err == nil && cluster != nil && workerless(cluster)
	}
	return client, cluster, place, nil
}

// perform makes a release what is desired. A release that already is as desired is only compared
// with the cluster.
func (r *reconciler) perform(ctx context.Context, d *desired, known recorded, report *reporter) outcome {
	client, cluster, place, err := r.connect(ctx, d, report)
	if err != nil {
		return outcome{err: err}
	}
	defer place.Leave()
	state, err := client.State(ctx)
	if err != nil {
		return outcome{err: err}
	}
	if state.Deployed() && state.Digest == d.digest {
		return r.settle(ctx, client, cluster, d, state, known)
	}
	report.phase(v1alpha1.PhasePreparing, "loading chart")
	ch, chartDigest, err := d.load(ctx)
	if err != nil {
		return outcome{err: chartError(err)}
	}
	wanted := release.Desired{Chart: ch, Values: d.values, Digest: d.digest}
	if state.Deployed() && state.Digest == "" {
		adopted, err := client.Adopt(ctx, state, wanted)
		if err != nil {
			return outcome{err: err}
		}
		if adopted {
			o := r.settle(ctx, client, cluster, d, state, recorded{})
			o.chartDigest = chartDigest
			return o
		}
	}
	if state, err = client.Repair(ctx, state); err != nil {
		return outcome{err: err}
	}
	return r.change(ctx, client, cluster, d, state, wanted, chartDigest, report)
}

// change installs or upgrades, with the hooks around it.
func (r *reconciler) change(ctx context.Context, client *release.Client, cluster *target.Cluster, d *desired, state release.State,
	wanted release.Desired, chartDigest string, report *reporter) outcome {
	phase := v1alpha1.PhaseUpgrading
	if state.Revision == 0 {
		phase = v1alpha1.PhaseInstalling
	}
	report.phase(phase, "applying")
	if err := runHooks(ctx, cluster, d.namespace, d.hooks.PreUpgrade, time.Now()); err != nil {
		return outcome{err: hookError(err)}
	}
	result, err := client.Apply(ctx, state, wanted)
	if err != nil {
		return outcome{err: err}
	}
	if err := runHooks(ctx, cluster, d.namespace, d.hooks.PostUpgrade, time.Now()); err != nil {
		return outcome{err: hookError(err)}
	}
	return outcome{changed: true, result: result, chartDigest: chartDigest, forWorkers: result.ForWorkers}
}

// settle restores what is missing from a release that is deployed as desired, and finishes what an
// interruption left.
func (r *reconciler) settle(ctx context.Context, client *release.Client, cluster *target.Cluster, d *desired, state release.State, known recorded) outcome {
	if known.digest != d.digest {
		if err := runHooks(ctx, cluster, d.namespace, d.hooks.PostUpgrade, time.Now()); err != nil {
			return outcome{err: hookError(err)}
		}
	}
	if known.revision != state.Revision || known.digest != d.digest {
		result, err := client.Result(ctx, state.Revision)
		if err != nil || !client.Workerless(ctx) {
			return outcome{err: err, result: result}
		}
		waits, err := client.Await(ctx, state.Revision) // that it waits may not have been written
		return outcome{err: err, result: result, forWorkers: waits}
	}
	corrected, err := client.Correct(ctx, state)
	if err != nil || !known.pending {
		return outcome{err: err, corrected: corrected}
	}
	waits, err := client.Await(ctx, state.Revision)
	return outcome{err: err, corrected: corrected, forWorkers: waits}
}

// remove uninstalls a release.
func (r *reconciler) remove(ctx context.Context, d *desired, report *reporter) outcome {
	report.phase(v1alpha1.PhaseUninstalling, "uninstalling")
	client, cluster, place, err := r.connect(ctx, d, report)
	if err != nil {
		return outcome{err: err}
	}
	defer place.Leave()
	client.Workerless = nil // what is to go is waited for
	if err := runHooks(ctx, cluster, d.namespace, d.hooks.PreDelete, time.Now()); err != nil {
		return outcome{err: hookError(err)}
	}
	if err := client.Uninstall(ctx); err != nil {
		return outcome{err: err}
	}
	if err := runHooks(ctx, cluster, d.namespace, d.hooks.PostDelete, time.Now()); err != nil {
		return outcome{err: hookError(err)}
	}
	return outcome{changed: true}
}

func hookError(err error) error {
	if kind := release.KindOf(err); kind == release.Unreachable {
		return err
	}
	return &release.Error{Kind: release.HookFailed, Err: err}
}

// chartError adds what can be done about a chart that could not be loaded. A missing chart may
// still be published.
func chartError(err error) error {
	switch {
	case errors.Is(err, charts.ErrDigest), errors.Is(err, charts.ErrInvalid):
		return &release.Error{Kind: release.ChartInvalid, Err: err}
	case errors.Is(err, charts.ErrOffline):
		return &release.Error{Kind: release.Refused, Err: err}
	}
	var e *release.Error
	if errors.As(err, &e) {
		return err
	}
	return &release.Error{Kind: release.ChartUnavailable, Err: err}
}

func keyOf(object addon) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}
