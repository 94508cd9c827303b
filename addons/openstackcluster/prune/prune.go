// Package prune deletes the templates of machines that nothing refers to any
// more. Templates are immutable and named by their content, so each change of a
// cluster makes new ones; Helm keeps the old ones, because machines are still
// made of them while a change rolls out.
package prune

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Grace is how old a template must be to be deleted: Helm makes a template
// before it makes anything refer to it.
const Grace = 10 * time.Minute

// Name is the controller's, in events, logs and metrics.
const Name = "template-pruner"

// AddToScheme adds the kinds that Setup reads with their Go types.
func AddToScheme(scheme *runtime.Scheme) error {
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, clusterv1.AddToScheme, controlplanev1.AddToScheme} {
		if err := add(scheme); err != nil {
			return fmt.Errorf("kinds of the pruner: %w", err)
		}
	}
	return nil
}

// Rules are what the pruner may do, as rules of a ClusterRole.
func Rules() []rbacv1.PolicyRule {
	read := []string{"get", "list", "watch"}
	remove := append([]string{"delete"}, read...)
	return []rbacv1.PolicyRule{
		{APIGroups: []string{clusterv1.GroupVersion.Group}, Resources: []string{"clusters", "machinedeployments", "machinesets"}, Verbs: read},
		{APIGroups: []string{controlplanev1.GroupVersion.Group}, Resources: []string{"kubeadmcontrolplanes"}, Verbs: read},
		{APIGroups: []string{infrastructure}, Resources: []string{"openstackmachines"}, Verbs: read},
		{APIGroups: []string{infrastructure}, Resources: []string{"openstackmachinetemplates"}, Verbs: remove},
		{APIGroups: []string{bootstrap}, Resources: []string{"kubeadmconfigs"}, Verbs: read},
		{APIGroups: []string{bootstrap}, Resources: []string{"kubeadmconfigtemplates"}, Verbs: remove},
		{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
	}
}

const (
	infrastructure = "infrastructure.cluster.x-k8s.io"
	bootstrap      = "bootstrap.cluster.x-k8s.io"
)

// templateKinds are the templates; cloneKinds is what is made of each.
func templateKinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Group: infrastructure, Version: "v1beta1", Kind: "OpenStackMachineTemplate"},
		{Group: bootstrap, Version: "v1beta2", Kind: "KubeadmConfigTemplate"},
	}
}

func cloneKinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Group: infrastructure, Version: "v1beta1", Kind: "OpenStackMachine"},
		{Group: bootstrap, Version: "v1beta2", Kind: "KubeadmConfig"},
	}
}

// Setup adds the pruner to a manager whose scheme AddToScheme filled. It looks
// at a cluster when what refers to templates changes or goes away.
func Setup(mgr manager.Manager) error {
	r := &reconciler{client: mgr.GetClient(), events: mgr.GetEventRecorderFor(Name), now: time.Now}
	toCluster := handler.EnqueueRequestsFromMapFunc(clusterOf)
	machine := &metav1.PartialObjectMetadata{}
	machine.SetGroupVersionKind(cloneKinds()[0])
	changed := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	err := builder.ControllerManagedBy(mgr).Named(Name).
		For(&clusterv1.Cluster{}, changed).
		Watches(&clusterv1.MachineDeployment{}, toCluster, changed).
		Watches(&clusterv1.MachineSet{}, toCluster, changed).
		Watches(&controlplanev1.KubeadmControlPlane{}, toCluster, changed).
		WatchesMetadata(machine, toCluster, changed).
		WithOptions(controller.Options{SkipNameValidation: ptr.To(true)}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("adding the pruner of templates: %w", err)
	}
	return nil
}

// clusterOf is the cluster that Cluster API's label names.
func clusterOf(_ context.Context, object client.Object) []reconcile.Request {
	cluster := object.GetLabels()[clusterv1.ClusterNameLabel]
	if cluster == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: cluster}}}
}

type reconciler struct {
	client client.Client
	events record.EventRecorder
	now    func() time.Time
}

// Reconcile deletes a cluster's templates that nothing refers to. Paused and
// deleted clusters are left to Cluster API.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	cluster := &clusterv1.Cluster{}
	if err := r.client.Get(ctx, request.NamespacedName, cluster); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if cluster.DeletionTimestamp != nil || ptr.Deref(cluster.Spec.Paused, false) {
		return reconcile.Result{}, nil
	}
	used, err := r.used(ctx, cluster)
	if apierrors.IsNotFound(err) {
		// Helm makes a cluster before its control plane. Without one nothing is known to be
		// unused, and no template is old enough yet.
		return reconcile.Result{RequeueAfter: Grace}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	var again time.Duration
	for _, kind := range templateKinds() {
		wait, err := r.prune(ctx, cluster, kind, used)
		if err != nil {
			return reconcile.Result{}, err
		}
		if again == 0 || wait != 0 && wait < again {
			again = wait
		}
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

// prune deletes the unused templates of a kind, and returns when the next one
// will be old enough; 0 if there is none.
func (r *reconciler) prune(ctx context.Context, cluster *clusterv1.Cluster, kind schema.GroupVersionKind, used references) (time.Duration, error) {
	list, err := r.list(ctx, cluster.Namespace, kind)
	if err != nil {
		return 0, err
	}
	var again time.Duration
	for i := range list.Items {
		template := &list.Items[i]
		if !ours(template, cluster.Name) || used[reference{kind.Kind, template.Name}] || template.DeletionTimestamp != nil {
			continue
		}
		if left := Grace - r.now().Sub(template.CreationTimestamp.Time); left > 0 {
			if again == 0 || left < again {
				again = left
			}
			continue
		}
		template = template.DeepCopy()
		template.SetGroupVersionKind(kind)
		err := r.client.Delete(ctx, template, client.Preconditions{UID: &template.UID})
		if err != nil && !apierrors.IsNotFound(err) {
			return 0, fmt.Errorf("deleting %s %s: %w", kind.Kind, template.Name, err)
		}
		r.events.Eventf(cluster, corev1.EventTypeNormal, "TemplateDeleted", "%s %s was no longer used by a machine", kind.Kind, template.Name)
	}
	return again, nil
}

// list returns the objects of a kind as the cache has them, without copies: a project may
// have those of a thousand clusters. Copy what you change.
func (r *reconciler) list(ctx context.Context, namespace string, kind schema.GroupVersionKind) (*metav1.PartialObjectMetadataList, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := r.client.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing %s: %w", kind.Kind, err)
	}
	return list, nil
}

// ours reports whether the chart made a template, for that cluster: the prefix of its label and its
// annotation is the release's own.
func ours(template *metav1.PartialObjectMetadata, cluster string) bool {
	for key := range template.Annotations {
		if prefix, ok := strings.CutSuffix(key, "/template-checksum"); ok {
			return template.Labels[prefix+"/cluster"] == cluster
		}
	}
	return false
}
