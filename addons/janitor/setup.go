// Package janitor deletes from OpenStack what a deleted Cluster API cluster left
// there: the floating IPs, load balancers and security groups of its Services,
// the volumes and snapshots of its claims, and on request its credential.
// docs/operations/janitor.md is its page for users.
package janitor

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// name is the janitor's name in events and logs: that of upstream.
const name = "cluster-api-janitor-openstack"

// AddToScheme adds the kinds that the janitor reads with their Go types.
func AddToScheme(scheme *runtime.Scheme) error {
	if err := corev1.AddToScheme(scheme); err != nil {
		return fmt.Errorf("kinds of the core group: %w", err)
	}
	return nil
}

// Setup adds the janitor to a manager whose scheme has been filled by AddToScheme. Its errors are
// those of Options.Validate and of controller-runtime.
func Setup(mgr manager.Manager, o Options) error {
	if err := o.Validate(); err != nil {
		return err
	}
	m, err := newMeters(metrics.Registry)
	if err != nil {
		return err
	}
	r := newReconciler(o, m, mgr.GetClient(), mgr.GetAPIReader())
	r.events = mgr.GetEventRecorderFor(name)
	cluster := &metav1.PartialObjectMetadata{}
	cluster.SetGroupVersionKind(clusterKind())
	return builder.ControllerManagedBy(mgr).Named(name).
		For(cluster, builder.WithPredicates(relevant())).
		WithOptions(controller.Options{MaxConcurrentReconciles: o.Workers, SkipNameValidation: ptr.To(true)}).
		Complete(r)
}

func newReconciler(o Options, m meters, c client.Client, reader client.Reader) *reconciler {
	observe := func(reason string, change float64) { m.waiting.WithLabelValues(reason).Add(change) }
	return &reconciler{options: o, client: c, reader: reader, meters: m, pace: newPace(o.RetryDelay, observe),
		slots: &slots{most: max(1, o.Workers/2), busy: map[string]int{}}, now: time.Now}
}

// relevant passes changes of what the janitor depends on: not of the status, which it writes
// itself, nor of its report.
func relevant() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, is := e.ObjectOld, e.ObjectNew
		return was.GetGeneration() != is.GetGeneration() || (was.GetDeletionTimestamp() == nil) != (is.GetDeletionTimestamp() == nil) ||
			!slices.Equal(was.GetFinalizers(), is.GetFinalizers()) || !maps.Equal(was.GetLabels(), is.GetLabels()) ||
			!maps.Equal(withoutReport(was), withoutReport(is))
	}}
}

func withoutReport(object client.Object) map[string]string {
	annotations := maps.Clone(object.GetAnnotations())
	delete(annotations, ReportAnnotation)
	return annotations
}
