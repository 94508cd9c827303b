// Package helm reconciles Helm releases with Helm's own library. It runs no program,
// writes nothing to disk, and leaves a release that is up to date alone.
package helm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Client manages the releases in one namespace of one cluster.
type Client struct {
	config    *action.Configuration
	namespace string
	log       *slog.Logger
}

// New returns a client for a cluster's namespace. Releases are stored in Secrets
// there, as by Helm's own command. New sends no requests.
func New(config *rest.Config, namespace string, log *slog.Logger) (*Client, error) {
	config = rest.CopyConfig(config)
	config.WarningHandler = warnings{log} // not to standard error, which is the user's
	getter, err := newGetter(config, namespace)
	if err != nil {
		return nil, err
	}
	c := &Client{config: &action.Configuration{}, namespace: namespace, log: log}
	debug := func(format string, args ...any) { log.Debug(fmt.Sprintf(format, args...)) }
	if err := c.config.Init(getter, namespace, "secret", debug); err != nil {
		return nil, fmt.Errorf("preparing Helm: %w", err)
	}
	return c, nil
}

// Wanted is the desired state of a release.
type Wanted struct {
	Name   string
	Chart  *chart.Chart
	Values map[string]any
	// Labels are set on the release's Secret.
	Labels map[string]string
	// Wait waits until the release's objects are ready.
	Wait bool
	// Timeout bounds hooks and Wait; 0 means five minutes.
	Timeout time.Duration
	// History is how many revisions are kept; 0 means 10, as in Helm's command.
	History int
	// Resume continues an interrupted change instead of undoing it, and keeps what a failed
	// one made, for releases whose objects must not be deleted or rolled back in between.
	Resume bool
}

// The defaults of Helm's command.
const (
	defaultTimeout = 5 * time.Minute
	defaultHistory = 10
)

// Ensure installs or upgrades the release and returns it. If the release was up to
// date, changed is false and there is no new revision. An interrupted change is undone
// first: a first installation is uninstalled, an upgrade is rolled back. With
// [Wanted.Resume] it is continued instead.
func (c *Client) Ensure(ctx context.Context, w Wanted) (r *release.Release, changed bool, err error) {
	last, err := c.Last(w.Name)
	if err != nil {
		return nil, false, err
	}
	if last != nil && interrupted(last) {
		if last, err = c.Repair(w, last); err != nil {
			return nil, false, err
		}
	}
	if last == nil {
		r, err = c.install(ctx, w)
		return r, true, err
	}
	if same(last, w) {
		return last, false, nil
	}
	r, err = c.upgrade(ctx, w)
	return r, true, err
}

// Last returns the latest revision of a release, nil if there is none.
func (c *Client) Last(name string) (*release.Release, error) {
	last, err := c.config.Releases.Last(name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading release %s: %w", name, err)
	}
	return last, nil
}

// interrupted reports whether the last change of the release did not complete.
func interrupted(r *release.Release) bool {
	return r.Info.Status.IsPending() || r.Info.Status == release.StatusUninstalling
}

// Repair cleans up an interrupted change, so that the next one is not refused
// ("another operation is in progress", helm issue 8987). It returns the latest
// revision, nil if there is none left.
func (c *Client) Repair(w Wanted, last *release.Release) (*release.Release, error) {
	c.log.Info("repairing an interrupted release", "release", w.Name, "status", last.Info.Status.String())
	if w.Resume {
		// The next upgrade starts from a failed revision.
		last.SetStatus(release.StatusFailed, "interrupted")
		if err := c.config.Releases.Update(last); err != nil {
			return nil, fmt.Errorf("resuming release %s: %w", w.Name, err)
		}
		return last, nil
	}
	switch last.Info.Status {
	case release.StatusPendingUpgrade, release.StatusPendingRollback:
		rollback := action.NewRollback(c.config)
		rollback.Timeout = w.timeout()
		if err := rollback.Run(w.Name); err != nil {
			return nil, fmt.Errorf("rolling back the interrupted upgrade of release %s: %w", w.Name, err)
		}
		return c.Last(w.Name)
	}
	_, err := c.Uninstall(w.Name, w.timeout())
	return nil, err
}

func (w Wanted) timeout() time.Duration {
	if w.Timeout == 0 {
		return defaultTimeout
	}
	return w.Timeout
}

// noValidation keeps Helm from reading the schemas of all kinds of a chart, which the API server
// must make first. With Kubernetes 1.27 or newer, Helm only looks there whether the API server could
// validate, and goes on without.
const noValidation = true

func (c *Client) install(ctx context.Context, w Wanted) (*release.Release, error) {
	if err := c.makeNamespace(ctx); err != nil {
		return nil, err
	}
	install := action.NewInstall(c.config)
	install.ReleaseName, install.Namespace = w.Name, c.namespace
	install.Wait, install.WaitForJobs, install.Timeout, install.Labels = w.Wait, w.Wait, w.timeout(), w.Labels
	install.TakeOwnership, install.DisableOpenAPIValidation = true, noValidation
	r, err := install.RunWithContext(ctx, w.Chart, w.Values)
	if err != nil {
		return nil, fmt.Errorf("installing release %s: %w", w.Name, err)
	}
	return r, nil
}

// makeNamespace does as Helm's command does with --create-namespace, but reads no schemas for it.
func (c *Client) makeNamespace(ctx context.Context) error {
	typed, err := c.config.KubernetesClientSet()
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace, Labels: map[string]string{"name": c.namespace}}}
	_, err = typed.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating namespace %s: %w", c.namespace, err)
	}
	return nil
}

func (c *Client) upgrade(ctx context.Context, w Wanted) (*release.Release, error) {
	upgrade := action.NewUpgrade(c.config)
	upgrade.Namespace, upgrade.ResetValues, upgrade.CleanupOnFail = c.namespace, true, !w.Resume
	upgrade.Wait, upgrade.WaitForJobs, upgrade.Timeout, upgrade.Labels = w.Wait, w.Wait, w.timeout(), w.Labels
	upgrade.MaxHistory, upgrade.DisableOpenAPIValidation = w.History, noValidation
	if upgrade.MaxHistory == 0 {
		upgrade.MaxHistory = defaultHistory
	}
	r, err := upgrade.RunWithContext(ctx, w.Name, w.Chart, w.Values)
	if err != nil {
		return nil, fmt.Errorf("upgrading release %s: %w", w.Name, err)
	}
	return r, nil
}

// Uninstall removes the release; it returns false if there was none.
func (c *Client) Uninstall(name string, timeout time.Duration) (bool, error) {
	// Helm's library takes a release whose records cannot be read for one that is not there.
	if last, err := c.Last(name); err != nil || last == nil {
		return false, err
	}
	uninstall := action.NewUninstall(c.config)
	uninstall.Timeout, uninstall.IgnoreNotFound = timeout, true
	response, err := uninstall.Run(name)
	if err != nil {
		return false, fmt.Errorf("uninstalling release %s: %w", name, err)
	}
	return response != nil, nil
}

// warnings collects the warnings of an API server.
type warnings struct{ log *slog.Logger }

// HandleWarningHeader implements rest.WarningHandler.
func (w warnings) HandleWarningHeader(_ int, _, text string) { w.log.Warn(text) }
