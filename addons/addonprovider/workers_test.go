package addonprovider

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
)

func TestWorkerless(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status map[string]any
		want   bool
	}{
		"counted none":         {map[string]any{"workers": map[string]any{}}, true},
		"counted zero":         {map[string]any{"workers": map[string]any{"desiredReplicas": int64(0), "replicas": int64(1)}}, true},
		"some":                 {map[string]any{"workers": map[string]any{"desiredReplicas": int64(2)}}, false},
		"zero in the old form": {map[string]any{"v1beta2": map[string]any{"workers": map[string]any{"desiredReplicas": int64(0)}}}, true},
		"not counted":          {map[string]any{}, false},
	} {
		cluster := &unstructured.Unstructured{Object: map[string]any{"status": test.status}}
		if got := workerless(cluster); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
		if essence(cluster)["workerless"] != test.want {
			t.Errorf("%s: a change is not seen", name)
		}
	}
}

// placement makes a chart's pod what a scheduler would: one that found no node,
// or one that runs.
func (w *world) placement(name string, runs bool) {
	w.t.Helper()
	w.until("pod "+name, func() error {
		pod := &corev1.Pod{}
		if err := w.client.Get(context.Background(), types.NamespacedName{Namespace: w.target, Name: name}, pod); err != nil {
			return err
		}
		pod.Status.Phase = corev1.PodPending
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
		if runs {
			pod.Status.Phase = corev1.PodRunning
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
		return w.client.Status().Update(context.Background(), pod)
	})
}

// counts makes the Cluster say how many workers it is to have.
func (w *world) counts(name string, workers int64) {
	w.t.Helper()
	w.until("cluster "+name, func() error {
		cluster := object("cluster.x-k8s.io/v1beta1", "Cluster", w.namespace, name, map[string]any{})
		if err := w.client.Get(context.Background(), client.ObjectKeyFromObject(cluster), cluster); err != nil {
			return err
		}
		return errors.Join(unstructured.SetNestedField(cluster.Object, workers, "status", "workers", "desiredReplicas"),
			w.client.Update(context.Background(), cluster))
	})
}

// TestWaitsForWorkers: a release that needs a worker is deployed where there is to
// be none, says so, and is ready when a worker came, in the same revision.
func TestWaitsForWorkers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.chart("web", "1.0.0", map[string]string{"templates/pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: web, image: example.com/web}]}\n"})
	w.counts("c", 0)
	w.start()
	r := w.helmRelease("hr", func(r *v1alpha1.HelmRelease) { r.Spec.Chart.Name = "web" })
	w.placement("web", false)
	message := w.reason(r, v1alpha1.ReasonWaitingForWorkers)
	if !strings.Contains(message, "Pod "+w.target+"/web") || r.Status.Phase != v1alpha1.PhaseDeployed || r.Status.Revision != 1 {
		t.Errorf("phase %s, revision %d: %s", r.Status.Phase, r.Status.Revision, message)
	}
	w.stop()
	w.start()
	w.change(r, func() { r.Annotations = map[string]string{"touched": "yes"} })
	w.reason(r, v1alpha1.ReasonWaitingForWorkers) // and is not forgotten
	w.counts("c", 1)
	w.placement("web", true)
	w.until("ready", func() error {
		if err := w.client.Get(context.Background(), client.ObjectKeyFromObject(r), r); err != nil {
			return err
		}
		return errorUnless(meta.IsStatusConditionTrue(r.Status.Conditions, v1alpha1.ReadyCondition), "not ready")
	})
	if all := w.revisions("hr"); len(all) != 1 || all["deployed"] != 1 {
		t.Errorf("revisions are %v", all)
	}
}

// TestHooksWaitForWorkers: a release whose hook needs a worker is not installed,
// and is when a worker came.
func TestHooksWaitForWorkers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.chart("hooked", "1.0.0", map[string]string{
		"templates/hook.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: before, annotations: {helm.sh/hook: pre-install}}\nspec: {containers: [{name: web, image: example.com/web}]}\n",
		"templates/map.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: after}\n"})
	w.counts("c", 0)
	w.start()
	r := w.helmRelease("hr", func(r *v1alpha1.HelmRelease) { r.Spec.Chart.Name = "hooked" })
	w.placement("before", false)
	w.reason(r, v1alpha1.ReasonWaitingForWorkers)
	if r.Status.Phase == v1alpha1.PhaseDeployed || r.Status.Phase == v1alpha1.PhaseFailed || w.configMap("after") != nil {
		t.Errorf("phase %s", r.Status.Phase)
	}
	w.counts("c", 1)
	w.until("installed", func() error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.target, Name: "before"}}
		if err := w.client.Get(context.Background(), client.ObjectKeyFromObject(pod), pod); err == nil && pod.Status.Phase != corev1.PodSucceeded {
			pod.Status.Phase = corev1.PodSucceeded
			if err := w.client.Status().Update(context.Background(), pod); err != nil {
				return err
			}
		}
		return errorUnless(w.configMap("after") != nil, "the release is not there")
	})
	w.phase(r, v1alpha1.PhaseDeployed)
}

// TestAHookThatFailedRunsAgain: an installation that a hook ended is no release to upgrade, which
// would leave its hooks out.
func TestAHookThatFailedRunsAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.chart("hooked", "1.0.0", map[string]string{
		"templates/hook.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: before, annotations: {helm.sh/hook: pre-install}}\n" +
			"spec: {serviceAccountName: late, containers: [{name: web, image: example.com/web}]}\n",
		"templates/map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: after}\n"})
	w.start()
	r := w.helmRelease("hr", func(r *v1alpha1.HelmRelease) { r.Spec.Chart.Name = "hooked" })
	w.phase(r, v1alpha1.PhaseFailed)
	if all := w.revisions("hr"); len(all) > 0 || w.configMap("after") != nil {
		t.Errorf("revisions are %v", all)
	}
	w.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.target, Name: "late"}})
	w.until("the hook runs", func() error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.target, Name: "before"}}
		if err := w.client.Get(context.Background(), client.ObjectKeyFromObject(pod), pod); err != nil {
			return err
		}
		pod.Status.Phase = corev1.PodSucceeded
		return w.client.Status().Update(context.Background(), pod)
	})
	w.phase(r, v1alpha1.PhaseDeployed)
	if w.configMap("after") == nil {
		t.Error("the release is not there")
	}
}
