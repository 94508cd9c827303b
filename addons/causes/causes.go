// Package causes watches Cluster API clusters that are not available, and reports why: by an event
// on the Cluster for each new cause, and by a metric. It asks the same engine as `slipway why`.
// Clusters of the Magnum API are left to its controllers, which do the same.
package causes

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cause/look"
	"github.com/slipway-sh/slipway/internal/clusterapi"
)

// Name is the name of the set in events and logs.
const Name = "causes"

// every is how often clusters are checked: the answers of clouds are reused for as long.
const every = time.Minute

// Rules are what the watch may do, as rules of a ClusterRole. Secrets may be read, but never
// listed: one at a time, to ask the cloud of a cluster that is not available.
func Rules() []rbacv1.PolicyRule {
	read := []string{"get", "list"}
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"cluster.x-k8s.io"}, Resources: []string{"clusters", "machines", "machinedeployments", "machinehealthchecks"}, Verbs: read},
		{APIGroups: []string{"controlplane.cluster.x-k8s.io"}, Resources: []string{"kubeadmcontrolplanes"}, Verbs: read},
		{APIGroups: []string{"infrastructure.cluster.x-k8s.io"}, Resources: []string{"openstackclusters", "openstackmachines", "openstackservers"}, Verbs: read},
		{APIGroups: []string{"addons.stackhpc.com"}, Resources: []string{"helmreleases", "manifests"}, Verbs: read},
		{APIGroups: []string{"openstack.k-orc.cloud"}, Resources: []string{"servergroups"}, Verbs: read},
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"clusters"}, Verbs: read},
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: read},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: read},
		{APIGroups: []string{"infrastructure.cluster.x-k8s.io"}, Resources: []string{"openstackclusteridentities"}, Verbs: []string{"get"}},
		{APIGroups: []string{""}, Resources: []string{"namespaces", "secrets"}, Verbs: []string{"get"}},
		{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"list", "create", "patch"}},
	}
}

// Setup adds the watch to a manager. It runs only on the leader.
func Setup(mgr manager.Manager) error {
	client, err := dynamic.NewForConfig(mgr.GetConfig())
	if err != nil {
		return fmt.Errorf("client of %s: %w", Name, err)
	}
	w := newWatch(client, mgr.GetEventRecorderFor("slipway-"+Name), mgr.GetLogger(), time.Now)
	if err := w.tally.register(metrics.Registry); err != nil {
		return err
	}
	return mgr.Add(w)
}

// watch checks clusters again and again.
type watch struct {
	client dynamic.Interface
	clouds *look.Cache
	events record.EventRecorder
	log    logr.Logger
	now    func() time.Time
	told   memory
	tally  *tally
}

func newWatch(client dynamic.Interface, events record.EventRecorder, log logr.Logger, now func() time.Time) *watch {
	return &watch{client: client, clouds: look.NewCache(now), events: events, log: log, now: now, told: memory{}, tally: newTally()}
}

// Start checks until ctx ends.
func (w *watch) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := w.look(ctx); err != nil && ctx.Err() == nil {
			w.log.Error(err, "clusters are not looked at")
		}
	}, every)
	return nil
}

// look checks once.
func (w *watch) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, every, fmt.Errorf("no answer within %s", every))
	defer cancel()
	others, err := w.ofMagnum(ctx)
	if err != nil {
		return err
	}
	all, err := clusterapi.ReadSick(ctx, w.client, func(c *unstructured.Unstructured) bool {
		return !others[types.NamespacedName{Namespace: c.GetNamespace(), Name: c.GetName()}]
	})
	if err != nil {
		return err
	}
	said := all.Ask(ctx, w.client, w.clouds, false, func(clusterapi.Report) bool { return true })
	controllers := clusterapi.Controllers(ctx, w.client)
	reports := all.Judge(func(namespace, name string) clusterapi.Known {
		return clusterapi.Known{Cloud: said.Of(namespace, name), Controllers: controllers}
	}, w.now())
	now := map[types.NamespacedName][]cause.Finding{}
	for _, r := range reports {
		key := types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
		now[key] = r.Findings
		if cluster := all.Cluster(r.Namespace, r.Name); cluster != nil {
			w.tell(cluster, w.told.learn(key, r.Findings, w.now()))
		}
	}
	w.told.keep(now)
	w.tally.set(now, w.now())
	return nil
}

// ofMagnum are the clusters of the Magnum API.
func (w *watch) ofMagnum(ctx context.Context) (map[types.NamespacedName]bool, error) {
	found := map[types.NamespacedName]bool{}
	list, err := w.client.Resource(v1alpha1.GroupVersion().WithResource("clusters")).Namespace(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return found, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the clusters of the Magnum API: %w", err)
	}
	for _, item := range list.Items {
		var c v1alpha1.Cluster
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &c); err != nil {
			return nil, fmt.Errorf("reading %s/%s of the Magnum API: %w", item.GetNamespace(), item.GetName(), err)
		}
		if v1alpha1.Held(&c) == "" {
			found[types.NamespacedName{Namespace: c.Namespace, Name: c.Stack()}] = true
		}
	}
	return found, nil
}
