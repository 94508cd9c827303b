package release

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	helm "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
)

// Desired is what a release is to be made from.
type Desired struct {
	Chart  *chart.Chart
	Values map[string]any
	// Digest covers chart and values; it is a valid label value.
	Digest string
}

// Result is a release as it is deployed.
type Result struct {
	Revision  int
	Notes     string
	Resources []v1alpha1.ResourceReference
	// ForWorkers is what was applied but is not ready because it needs workers, and the cluster is
	// to have none.
	ForWorkers []string
}

// Repair brings a release out of a state in which an interruption left it, and returns the state
// after that. An interrupted upgrade becomes a failed one, from which the next upgrade continues; a
// release that was never deployed, or was being uninstalled, is deleted.
func (c *Client) Repair(ctx context.Context, state State) (State, error) {
	switch state.Status {
	case helm.StatusPendingInstall, helm.StatusUninstalling:
		c.Progress("removing what an interrupted " + state.Status.String() + " left")
		if err := c.Uninstall(ctx); err != nil {
			return state, fmt.Errorf("repairing release in state %s: %w", state.Status, err)
		}
	case helm.StatusPendingUpgrade, helm.StatusPendingRollback:
		records := c.configuration(ctx, nil).Releases
		record, err := records.Get(c.Name, state.Revision)
		if err != nil {
			return state, fmt.Errorf("repairing release in state %s: %w", state.Status, err)
		}
		record.SetStatus(helm.StatusFailed, "interrupted")
		if err := records.Update(record); err != nil {
			return state, fmt.Errorf("repairing release in state %s: %w", state.Status, err)
		}
	default:
		return state, nil
	}
	return c.State(ctx)
}

// Adopt reports whether a deployed release of others is made of the same chart and values, and if
// so labels it.
func (c *Client) Adopt(ctx context.Context, state State, desired Desired) (bool, error) {
	record, err := c.configuration(ctx, nil).Releases.Get(c.Name, state.Revision)
	if err != nil {
		return false, fmt.Errorf("reading release: %w", err)
	}
	have, want := record.Chart.Metadata, desired.Chart.Metadata
	if have.Name != want.Name || strings.TrimPrefix(have.Version, "v") != strings.TrimPrefix(want.Version, "v") ||
		!sameValues(record.Config, desired.Values) {
		return false, nil
	}
	return true, c.mark(ctx, state, desired.Digest)
}

func sameValues(a, b map[string]any) bool {
	if len(a) == 0 && len(b) == 0 {
		return true
	}
	return reflect.DeepEqual(throughJSON(a), throughJSON(b))
}

func throughJSON(value any) any {
	data, err := json.Marshal(value)
	if err != nil {
		return value
	}
	var result any
	if err := json.Unmarshal(data, &result); err != nil {
		return value
	}
	return result
}

// Apply installs or upgrades the release and waits until it is ready.
func (c *Client) Apply(ctx context.Context, state State, desired Desired) (*Result, error) {
	if err := c.applyDefinitions(ctx, desired.Chart); err != nil {
		return nil, err
	}
	rendered := &rendering{}
	labels := map[string]string{v1alpha1.DigestLabel: desired.Digest}
	cfg := c.configuration(ctx, func(manifest string) bool { return manifest != rendered.text && c.stored(ctx, manifest) })
	var record *helm.Release
	var err error
	if state.Revision == 0 || state.Status == helm.StatusUninstalled {
		install := action.NewInstall(cfg)
		install.ReleaseName, install.Namespace, install.CreateNamespace = c.Name, c.Namespace, true
		install.Replace = state.Revision != 0
		install.SkipCRDs, install.Wait, install.WaitForJobs, install.Timeout = true, true, true, c.Timeout
		install.Labels, install.PostRenderer, install.DisableOpenAPIValidation = labels, rendered, true // see strict
		record, err = install.Run(desired.Chart, desired.Values)
	} else {
		upgrade := action.NewUpgrade(cfg)
		upgrade.Namespace, upgrade.ResetValues, upgrade.MaxHistory, upgrade.CleanupOnFail = c.Namespace, true, c.History, true
		upgrade.SkipCRDs, upgrade.Wait, upgrade.WaitForJobs, upgrade.Timeout = true, true, true, c.Timeout
		upgrade.Labels, upgrade.PostRenderer, upgrade.DisableOpenAPIValidation = labels, rendered, true
		record, err = upgrade.Run(c.Name, desired.Chart, desired.Values)
	}
	if err != nil {
		return nil, c.notApplied(ctx, cfg, state, record, classify(err, rendered.done))
	}
	result, err := c.result(ctx, record)
	if err == nil {
		result.ForWorkers = forWorkers(cfg)
	}
	return result, err
}

// beforeInstalling is how Helm's error begins when a hook ended an installation before anything
// else was made.
const beforeInstalling = "failed pre-install"

// notApplied is why an installation or upgrade failed. If an installation ended in a hook before
// anything was made, for want of workers or for another reason, no record is kept: the next attempt
// is an installation again, with its hooks. An upgrade would leave them out, for example after a
// Pod that came before the service account of its new namespace.
func (c *Client) notApplied(ctx context.Context, cfg *action.Configuration, state State, record *helm.Release, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	again := strings.Contains(err.Error(), beforeInstalling)
	if w, ok := cfg.KubeClient.(*waiter); ok && len(w.hookForWorkers) > 0 {
		// Helm keeps only the words of what a hook ends with.
		err = &Error{WorkersMissing, &WorkersError{w.hookForWorkers}}
		again = !w.applied
	}
	if again && state.Revision == 0 && record != nil {
		if _, deleting := cfg.Releases.Delete(record.Name, record.Version); deleting != nil {
			return errors.Join(err, fmt.Errorf("deleting record of release: %w", deleting))
		}
	}
	return err
}

// forWorkers is what the last wait of an action left waiting for workers.
func forWorkers(cfg *action.Configuration) []string {
	w, ok := cfg.KubeClient.(*waiter)
	if !ok {
		return nil
	}
	return w.forWorkers
}

// Await waits until a deployed revision is ready. It returns what needs workers if the cluster is
// to have none.
func (c *Client) Await(ctx context.Context, revision int) ([]string, error) {
	cfg := c.configuration(ctx, nil)
	record, err := cfg.Releases.Get(c.Name, revision)
	if err != nil {
		return nil, fmt.Errorf("reading release: %w", err)
	}
	resources, err := cfg.KubeClient.Build(bytes.NewBufferString(record.Manifest), false)
	if err != nil {
		return nil, classify(fmt.Errorf("reading manifest of release: %w", err), true)
	}
	if err := cfg.KubeClient.WaitWithJobs(resources, c.Timeout); err != nil {
		return nil, classify(err, true)
	}
	return forWorkers(cfg), nil
}

// rendering records that the chart was rendered, which distinguishes faults of the chart from
// faults of the cluster.
type rendering struct {
	done bool
	text string
}

func (r *rendering) Run(manifests *bytes.Buffer) (*bytes.Buffer, error) {
	r.done, r.text = true, manifests.String()
	return manifests, nil
}

// stored reports whether a manifest belongs to a revision that an upgrade would replace.
func (c *Client) stored(ctx context.Context, manifest string) bool {
	records := c.configuration(ctx, nil).Releases
	for _, read := range []func(string) (*helm.Release, error){records.Last, records.Deployed} {
		if record, err := read(c.Name); err == nil && record.Manifest == manifest {
			return true
		}
	}
	return false
}

// Result reads a revision.
func (c *Client) Result(ctx context.Context, revision int) (*Result, error) {
	record, err := c.configuration(ctx, nil).Releases.Get(c.Name, revision)
	if err != nil {
		return nil, fmt.Errorf("reading release: %w", err)
	}
	return c.result(ctx, record)
}

func (c *Client) result(ctx context.Context, record *helm.Release) (*Result, error) {
	resources, err := c.configuration(ctx, nil).KubeClient.Build(bytes.NewBufferString(record.Manifest), false)
	if err != nil {
		return nil, classify(fmt.Errorf("reading manifest of release: %w", err), true)
	}
	result := &Result{Revision: record.Version}
	if record.Info != nil {
		result.Notes = record.Info.Notes
	}
	for _, info := range resources {
		result.Resources = append(result.Resources, v1alpha1.ResourceReference{
			APIVersion: info.Mapping.GroupVersionKind.GroupVersion().String(),
			Kind:       info.Mapping.GroupVersionKind.Kind, Name: info.Name, Namespace: info.Namespace,
		})
	}
	return result, nil
}

// Uninstall deletes the release and waits until its resources are gone. A missing release is no
// error.
func (c *Client) Uninstall(ctx context.Context) error {
	uninstall := action.NewUninstall(c.configuration(ctx, func(string) bool { return true }))
	uninstall.IgnoreNotFound, uninstall.Wait, uninstall.Timeout = true, true, c.Timeout
	uninstall.DeletionPropagation = "background"
	_, err := uninstall.Run(c.Name)
	switch {
	case err == nil, errors.Is(err, driver.ErrReleaseNotFound):
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return classify(fmt.Errorf("uninstalling release: %w", err), true)
}
