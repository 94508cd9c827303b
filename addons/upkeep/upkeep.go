// Package upkeep watches what stops working one day if nobody does anything, and serves it as
// metrics: logins to OpenStack that end, quotas of the environment's project that are nearly
// used up, images that machines can no longer be made of, and what clusters have left.
//
// All of it changes in days, so that clouds are asked seldom, and for all clusters together
// within a bound.
package upkeep

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/clusterapi"
)

// Name is the watch's, in logs.
const Name = "upkeep"

// every is how often the watch looks, which is how often the project is asked.
const every = 5 * time.Minute

// Project is the project of an environment.
type Project struct {
	Environment string
	// Login is with the environment's own credential.
	Login cloud.Options
}

// Rules are what the watch may do, as rules of a ClusterRole. Secrets may be got, never
// listed: one at a time, to ask the cloud with the login of a cluster.
func Rules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"cluster.x-k8s.io"}, Resources: []string{"clusters", "machinedeployments"}, Verbs: []string{"list"}},
		{APIGroups: []string{"controlplane.cluster.x-k8s.io"}, Resources: []string{"kubeadmcontrolplanes"}, Verbs: []string{"list"}},
		{APIGroups: []string{"infrastructure.cluster.x-k8s.io"}, Resources: []string{"openstackclusters", "openstackclusteridentities", "openstackmachinetemplates"}, Verbs: []string{"get"}},
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"clustertemplates"}, Verbs: []string{"list"}},
		{APIGroups: []string{""}, Resources: []string{"namespaces", "secrets"}, Verbs: []string{"get"}},
	}
}

// Setup adds the watch to a manager. It runs where that is the leader. Without a project it
// watches the logins and images of clusters alone.
func Setup(mgr manager.Manager, project *Project) error {
	client, err := dynamic.NewForConfig(mgr.GetConfig())
	if err != nil {
		return fmt.Errorf("client of %s: %w", Name, err)
	}
	w := newWatch(client, project, mgr.GetLogger().WithName(Name), time.Now)
	if err := w.tally.register(metrics.Registry); err != nil {
		return err
	}
	return mgr.Add(w)
}

// watch looks again and again.
type watch struct {
	client  dynamic.Interface
	project *Project
	// opened is the login to the project, which is kept; nil if there is none.
	opened *cloud.Cloud
	// own is the name of that login in metrics.
	own      string
	clusters map[types.NamespacedName]*visit
	log      logr.Logger
	now      func() time.Time
	tally    *tally
}

func newWatch(client dynamic.Interface, project *Project, log logr.Logger, now func() time.Time) *watch {
	return &watch{client: client, project: project, own: ownLogin, clusters: map[types.NamespacedName]*visit{}, log: log, now: now, tally: newTally()}
}

// Start looks until ctx ends.
func (w *watch) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := w.look(ctx); err != nil && ctx.Err() == nil {
			w.log.Error(err, "not everything could be looked at")
		}
	}, every)
	return nil
}

// look looks once.
func (w *watch) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, every, fmt.Errorf("no answer within %s", every))
	defer cancel()
	w.tally.begin(w.now(), w.project != nil)
	var said *cloud.Snapshot
	var wrong []error
	if w.project != nil {
		var err error
		if said, err = w.ask(ctx); err != nil {
			wrong = append(wrong, err)
		}
	}
	// Clusters are read after credentials: what there is a credential for by then is one of them.
	all, err := clusterapi.ReadBrief(ctx, w.client)
	if err != nil {
		return errors.Join(append(wrong, err)...)
	}
	if said != nil {
		w.judge(said, all)
		wrong = append(wrong, w.templates(ctx))
	}
	wrong = append(wrong, w.visitSome(ctx, slices.DeleteFunc(all, func(b clusterapi.Brief) bool { return b.Deleting })))
	return errors.Join(wrong...)
}

// refused reports whether Keystone refuses a login: it has ended, or somebody ended it.
func refused(err error) bool {
	var answer *cloud.Error
	return errors.As(err, &answer) && (answer.Status == http.StatusUnauthorized || answer.Status == http.StatusNotFound)
}
