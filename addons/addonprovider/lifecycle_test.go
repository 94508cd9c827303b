package addonprovider

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
)

func errorUnless(holds bool, text string) error {
	if holds {
		return nil
	}
	return errors.New(text)
}

func (w *world) gone(o client.Object) {
	w.t.Helper()
	w.until(o.GetName()+" is gone", func() error { return gone(w.client.Get(context.Background(), client.ObjectKeyFromObject(o), o)) })
}

func (w *world) remove(o client.Object) {
	w.t.Helper()
	if err := w.client.Delete(context.Background(), o); err != nil {
		w.t.Fatal(err)
	}
}

func hook(action v1alpha1.HookAction, kind, name, options string) v1alpha1.LifecycleHook {
	h := v1alpha1.LifecycleHook{APIVersion: "v1", Kind: kind, Action: action, Name: name}
	if options != "" {
		h.Options = &apiextensionsv1.JSON{Raw: []byte(options)}
	}
	return h
}

// counted is a hook that only works as the n-th, counted from 0.
func counted(n string, next string) v1alpha1.LifecycleHook {
	return hook(v1alpha1.HookPatch, "ConfigMap", "steps",
		`{"type": "json", "data": [{"op": "test", "path": "/data/step", "value": "`+n+`"}, {"op": "replace", "path": "/data/step", "value": "`+next+`"}]}`)
}

// proves: F119
func TestHooksRunInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.target}})
	in := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: w.target, Name: name, Labels: map[string]string{"old": "yes"}}
	}
	steps := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.target, Name: "steps"}, Data: map[string]string{"step": "0"}}
	w.create(steps)
	w.create(&corev1.ConfigMap{ObjectMeta: in("old-one")})
	w.create(&corev1.ConfigMap{ObjectMeta: in("old-two")})
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.target, Name: "web"}, Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "example.com/web"}}}}}}
	w.create(web)
	r := w.helmRelease("hr", func(r *v1alpha1.HelmRelease) {
		remove := hook(v1alpha1.HookDelete, "ConfigMap", "", "")
		remove.Selector = map[string]string{"old": "yes"}
		restart := hook(v1alpha1.HookRestart, "Deployment", "web", "")
		restart.APIVersion = "apps/v1"
		missing := hook(v1alpha1.HookDelete, "NoSuchKind", "x", "")
		r.Spec.LifecycleHooks = v1alpha1.LifecycleHooks{
			PreUpgrade: []v1alpha1.LifecycleHook{counted("0", "1"), counted("1", "2"), missing, remove, hook(v1alpha1.HookDelete, "ConfigMap", "", ""),
				// Does nothing unless the release is there already, and then fails.
				hook(v1alpha1.HookPatch, "ConfigMap", "hr-demo", `{"type": "json", "data": [{"op": "test", "path": "/data/values", "value": "none"}]}`)},
			PostUpgrade: []v1alpha1.LifecycleHook{counted("2", "3"), restart,
				hook(v1alpha1.HookPatch, "ConfigMap", "hr-demo", `{"data": {"metadata": {"labels": {"patched": "yes"}}}}`)},
			PreDelete: []v1alpha1.LifecycleHook{counted("3", "4"),
				hook(v1alpha1.HookPatch, "ConfigMap", "hr-demo", `{"type": "json", "data": [{"op": "test", "path": "/metadata/labels/patched", "value": "yes"}]}`)},
			PostDelete: []v1alpha1.LifecycleHook{counted("4", "5")},
		}
	})
	w.start()
	w.revision(r, 1)
	get := func(o client.Object) {
		t.Helper()
		if err := w.client.Get(context.Background(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
	}
	get(steps)
	get(web)
	if steps.Data["step"] != "3" || w.configMap("old-one") != nil || w.configMap("old-two") != nil ||
		w.configMap("hr-demo").Labels["patched"] != "yes" || web.Spec.Template.Annotations[v1alpha1.RestartedAtAnnotation] == "" {
		t.Errorf("step %s, labels %v, annotations %v", steps.Data["step"], w.configMap("hr-demo").Labels, web.Spec.Template.Annotations)
	}
	w.remove(r)
	w.gone(r)
	get(steps)
	if steps.Data["step"] != "5" || w.configMap("hr-demo") != nil {
		t.Errorf("step %s", steps.Data["step"])
	}
}

// proves: F119, F122
func TestHookThatFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.target}})
	w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.target, Name: "steps"}, Data: map[string]string{"step": "other"}})
	r := w.helmRelease("hr", func(r *v1alpha1.HelmRelease) {
		r.Spec.LifecycleHooks.PostUpgrade = []v1alpha1.LifecycleHook{counted("0", "1")}
	})
	w.start()
	message := w.reason(r, v1alpha1.ReasonHookFailed)
	if !strings.Contains(message, "lifecycle hook 1 (patch ConfigMap)") || r.Status.FailureMessage == "" {
		t.Errorf("message %q", message)
	}
	steps := w.configMap("steps")
	w.change(steps, func() { steps.Data["step"] = "0" })
	w.revision(r, 1) // the release is there; only its hook is tried again
	if w.configMap("steps").Data["step"] != "1" {
		t.Error("the hook did not run again")
	}
}

// proves: F120
func TestPaused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	never := w.helmRelease("never", func(r *v1alpha1.HelmRelease) { r.Spec.Paused = true })
	held := w.helmRelease("held", func(r *v1alpha1.HelmRelease) { r.Annotations = map[string]string{"cluster.x-k8s.io/paused": ""} })
	r := w.helmRelease("hr", withTemplate("a: 1"))
	w.start()
	w.revision(r, 1)
	w.reason(never, v1alpha1.ReasonPaused)
	w.reason(held, v1alpha1.ReasonPaused)
	if w.configMap("held-demo") != nil {
		t.Error("an addon with Cluster API's annotation of a pause is installed")
	}
	w.change(held, func() { held.Annotations = nil })
	w.revision(held, 1)
	w.change(r, func() { r.Spec.Paused, r.Spec.ValuesSources[0].Template = true, ptr.To("a: 2") })
	w.reason(r, v1alpha1.ReasonPaused)
	if got := w.configMap("hr-demo").Data["values"]; got != `{"a":1,"greeting":"hello"}` || w.configMap("never-demo") != nil {
		t.Errorf("values are %s", got)
	}
	w.remove(r)
	w.gone(r)
	if w.configMap("hr-demo") == nil || w.revisions("hr")["deployed"] != 1 {
		t.Error("what a paused addon left is gone")
	}
}

func TestWhatMovesAwayStaysOnItsCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.helmRelease("hr", withTemplate("a: 1"))
	w.start()
	w.revision(r, 1)
	w.change(r, func() { r.Annotations = map[string]string{v1alpha1.MovedAnnotation: ""} })
	w.remove(r)
	w.gone(r)
	if w.configMap("hr-demo") == nil || w.revisions("hr")["deployed"] != 1 {
		t.Error("the release went with the object that was moved")
	}
}

// proves: F121
func TestDeletionOfTheClusterDoesNotWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cluster("dead", true)
	kubeconfig := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "dead-kubeconfig"}}
	w.change(kubeconfig, func() {
		kubeconfig.Data["value"] = []byte(strings.ReplaceAll(string(realServer.Kubeconfig), strings.TrimPrefix(realServer.Config.Host, "https://"), "127.0.0.1:1"))
	})
	r := w.helmRelease("hr", func(r *v1alpha1.HelmRelease) { r.Spec.ClusterName = "dead" })
	w.start()
	message := w.reason(r, v1alpha1.ReasonClusterUnreachable)
	if !strings.Contains(message, "does not answer") || r.Status.FailureMessage == "" || r.Status.Phase == v1alpha1.PhaseUnknown {
		t.Errorf("message %q, phase %s", message, r.Status.Phase)
	}
	w.remove(r)
	time.Sleep(time.Second)
	if err := w.client.Get(context.Background(), client.ObjectKeyFromObject(r), r); err != nil {
		t.Fatalf("it went although its release may be there: %v", err)
	}
	cluster := w.clusterObject("dead")
	w.change(cluster, func() {
		unstructured.SetNestedField(cluster.Object, "Deleting", "status", "phase") //nolint:errcheck // of the test's own making
	})
	w.gone(r)
}

// A kubeconfig that is missing for a moment leaves no release behind; on a cluster that
// never had one there is none.
func TestDeletionWaitsForTheKubeconfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.helmRelease("hr", withTemplate("a: 1"))
	never := w.helmRelease("never", func(r *v1alpha1.HelmRelease) { r.Spec.ClusterName = "young" })
	w.cluster("young", false)
	young := w.clusterObject("young")
	w.change(young, func() { unstructured.RemoveNestedField(young.Object, "status") })
	w.remove(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "young-kubeconfig"}})
	w.start()
	w.revision(r, 1)
	w.reason(never, v1alpha1.ReasonClusterNotReady)
	w.remove(never)
	w.gone(never)
	w.remove(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "c-kubeconfig"}})
	w.remove(r)
	if message := w.reason(r, v1alpha1.ReasonClusterNotReady); message != "Secret c-kubeconfig is missing" {
		t.Errorf("message %q", message)
	}
	if w.configMap("hr-demo") == nil {
		t.Error("the release is gone")
	}
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "c-kubeconfig"}, Data: map[string][]byte{"value": realServer.Kubeconfig}})
	w.gone(r)
	if w.configMap("hr-demo") != nil || len(w.revisions("hr")) != 0 {
		t.Error("the release was not uninstalled")
	}
}

func neverReady() map[string]string {
	return map[string]string{"templates/pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: stuck}\nspec: {containers: [{name: c, image: example.com/c}]}\n"}
}

// proves: F121, F122
func TestDeletionAndChangesEndAWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.chart("stuck", "1.0.0", neverReady())
	stuck := func(r *v1alpha1.HelmRelease) { r.Spec.Chart.Name = "stuck" }
	first, second := w.helmRelease("first", stuck), w.helmRelease("second", stuck, func(r *v1alpha1.HelmRelease) { r.Spec.TargetNamespace += "-2" })
	w.start()
	for _, r := range []*v1alpha1.HelmRelease{first, second} {
		w.until("progress is shown", func() error {
			return errorUnless(strings.Contains(w.reason(r, v1alpha1.ReasonProgressing), "waiting for Pod"), "it is not")
		})
		if r.Status.Phase != v1alpha1.PhaseInstalling {
			t.Errorf("phase is %s", r.Status.Phase)
		}
	}
	began := time.Now()
	w.remove(first)
	w.gone(first)
	w.change(second, func() { second.Spec.Chart.Name = "demo" })
	w.phase(second, v1alpha1.PhaseDeployed)
	if took := time.Since(began); took > 45*time.Second {
		t.Errorf("it took %s", took)
	}
}

// proves: F122
func TestNotReadyInTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.chart("stuck", "1.0.0", neverReady())
	r := w.helmRelease("hr", func(r *v1alpha1.HelmRelease) {
		r.Spec.Chart.Name, r.Spec.ReleaseTimeout = "stuck", ptr.To(intstr.FromInt32(1))
	})
	w.start()
	w.phase(r, v1alpha1.PhaseFailed)
	if !strings.Contains(r.Status.FailureMessage, "not ready after 1s: Pod "+w.target+"/stuck") {
		t.Errorf("failure message is %q", r.Status.FailureMessage)
	}
}
