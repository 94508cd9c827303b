package addonprovider

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
)

// proves: F111, F112, F115
func TestInstallMergeAndNothingToDo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.helmRelease("hr", withTemplate("a: {x: 1, l: [1]}\ngreeting: hi\n",
		"a: {y: {{ cluster.spec.controlPlaneEndpoint.port }}, l: [2]}\ngreeting: null\n"))
	w.start()
	w.revision(r, 1)
	got := w.configMap("hr-demo").Data["values"]
	if want := `{"a":{"l":[1,2],"x":1,"y":6443},"greeting":"hi"}`; got != want {
		t.Errorf("values are %s, want %s", got, want)
	}
	if r.Status.Notes != "hi from hr" || r.Status.ChartDigest == "" || len(r.Status.Resources) != 1 {
		t.Errorf("status is %+v", r.Status)
	}
	if r.Labels[v1alpha1.ClusterLabel] != "c" || len(r.OwnerReferences) != 1 || len(r.Finalizers) != 1 {
		t.Errorf("metadata is %+v", r.ObjectMeta)
	}
	w.change(r, func() { r.Annotations = map[string]string{"touched": "yes"} })
	w.stop()
	w.start()
	w.change(r, func() { r.Annotations = map[string]string{"touched": "again"} })
	w.phase(r, v1alpha1.PhaseDeployed)
	if all := w.revisions("hr"); len(all) != 1 || all["deployed"] != 1 {
		t.Errorf("revisions are %v", all)
	}
}

// proves: F116, F121
func TestManifestsPruneAndDelete(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {text: '{% raw %}{{ .Values.x }}{% endraw %}'}\n"
	two := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: two}\n"
	m := w.manifests("m", one, two)
	w.start()
	w.revision(m, 1)
	if got := w.configMap("one").Data["text"]; got != "{{ .Values.x }}" || w.configMap("two") == nil {
		t.Errorf("text is %q", got)
	}
	w.change(m, func() { m.Spec.ManifestSources = m.Spec.ManifestSources[:1] })
	w.revision(m, 2)
	if w.configMap("two") != nil || w.configMap("one") == nil {
		t.Error("two was not pruned, or one was")
	}
	if err := w.client.Delete(context.Background(), m); err != nil {
		t.Fatal(err)
	}
	w.until("gone", func() error { return gone(w.client.Get(context.Background(), client.ObjectKeyFromObject(m), m)) })
	if w.configMap("one") != nil || len(w.revisions("m")) != 0 {
		t.Error("the release was not uninstalled")
	}
}

func gone(err error) error {
	if err == nil {
		return errors.New("it is still there")
	}
	return client.IgnoreNotFound(err)
}

// proves: F122
func TestFailuresSayWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.chart("broken", "1.0.0", map[string]string{"templates/x.yaml": "{{ fail \"set the thing\" }}"})
	w.start()
	for name, c := range map[string]struct {
		change func(*v1alpha1.HelmRelease)
		reason string
		want   string
		phase  v1alpha1.Phase
	}{
		"template": {withTemplate("a: {{ nosuch.field }}"), v1alpha1.ReasonTemplateFailed, "'nosuch' is undefined", v1alpha1.PhaseFailed},
		"yaml":     {withTemplate("a: [1"), v1alpha1.ReasonTemplateFailed, "values source 1", v1alpha1.PhaseFailed},
		"chart":    {func(r *v1alpha1.HelmRelease) { r.Spec.Chart.Name = "broken" }, v1alpha1.ReasonChartInvalid, "set the thing", v1alpha1.PhaseFailed},
		"source": {func(r *v1alpha1.HelmRelease) {
			r.Spec.ValuesSources = []v1alpha1.ValuesSource{{Secret: &v1alpha1.NameKey{Name: "nosuch"}}}
		}, v1alpha1.ReasonSourceMissing, "Secret nosuch is missing", v1alpha1.PhasePending},
		"cluster": {func(r *v1alpha1.HelmRelease) { r.Spec.ClusterName = "nosuch" }, v1alpha1.ReasonClusterMissing, "Cluster nosuch is missing", v1alpha1.PhasePending},
	} {
		r := w.helmRelease(name, c.change)
		message := w.reason(r, c.reason)
		if !strings.Contains(message, c.want) || r.Status.Phase != c.phase {
			t.Errorf("%s: phase %s, message %q", name, r.Status.Phase, message)
		}
		if c.phase == v1alpha1.PhaseFailed && !strings.Contains(r.Status.FailureMessage, c.want) {
			t.Errorf("%s: failure message %q", name, r.Status.FailureMessage)
		}
	}
}

// proves: F122
func TestUnknownFieldsAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.manifests("m", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\nspelt: wrong\n")
	w.start()
	message := w.reason(m, v1alpha1.ReasonRefused)
	stalled := meta.IsStatusConditionTrue(m.Status.Conditions, v1alpha1.StalledCondition)
	if !strings.Contains(message, `unknown field "spelt"`) || m.Status.Phase != v1alpha1.PhaseFailed || !stalled {
		t.Errorf("phase %s, stalled %v, message %q", m.Status.Phase, stalled, message)
	}
	w.change(m, func() {
		*m.Spec.ManifestSources[0].Template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"
	})
	w.phase(m, v1alpha1.PhaseDeployed)
	if meta.FindStatusCondition(m.Status.Conditions, v1alpha1.StalledCondition) != nil || m.Status.FailureMessage != "" {
		t.Errorf("status is %+v", m.Status)
	}
}

func TestSilentClusterHoldsUpNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *Options) { o.MaxConcurrent, o.MaxConcurrentPerCluster = 1, 1 })
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() }) //nolint:errcheck // the test is over
	w.cluster("silent", true)
	kubeconfig := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "silent-kubeconfig"}}
	w.change(kubeconfig, func() {
		kubeconfig.Data["value"] = []byte(strings.ReplaceAll(string(realServer.Kubeconfig), strings.TrimPrefix(realServer.Config.Host, "https://"), silent.Addr().String()))
	})
	for i := range 30 {
		w.helmRelease(fmt.Sprintf("silent-%d", i), func(r *v1alpha1.HelmRelease) { r.Spec.ClusterName = "silent" })
	}
	w.start()
	time.Sleep(time.Second)
	// Were the silent ones ahead of it in line, with 10 s each until they give
	// up, it would take longer than the test's patience.
	r := w.helmRelease("hr")
	w.revision(r, 1)
}
