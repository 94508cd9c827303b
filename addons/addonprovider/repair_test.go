package addonprovider

import (
	"context"
	"strings"
	"testing"

	helm "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
)

// widgets is a definition for a test, with a field if there is one.
func widgets(group, field string) string {
	return `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.` + group + `}
spec:
  group: ` + group + `
  scope: Namespaced
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {` + field + `: {type: string}}}
`
}

// proves: F117, F126
func TestDefinitionsComeBeforeWhatNeedsThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	group := w.namespace + ".example.com"
	w.chart("widgets", "1.0.0", map[string]string{"crds/widgets.yaml": widgets(group, "one")})
	w.chart("widgets", "1.1.0", map[string]string{"crds/widgets.yaml": widgets(group, "two")})
	w.chart("needs", "1.0.0", map[string]string{"templates/w.yaml": "apiVersion: " + group + "/v1\nkind: Widget\nmetadata: {name: w}\nspec: {}\n"})
	chart := func(name string) func(*v1alpha1.HelmRelease) {
		return func(r *v1alpha1.HelmRelease) { r.Spec.Chart.Name = name }
	}
	needs := w.helmRelease("needs", chart("needs"))
	w.start()
	message := w.reason(needs, v1alpha1.ReasonKindMissing)
	if !strings.Contains(message, "Widget") || needs.Status.Phase != v1alpha1.PhasePending || len(w.revisions("needs")) != 0 {
		t.Errorf("phase %s, message %q, revisions %v", needs.Status.Phase, message, w.revisions("needs"))
	}
	provides := w.helmRelease("provides", chart("widgets"))
	w.revision(provides, 1)
	w.revision(needs, 1)
	if all := w.revisions("needs"); len(all) != 1 {
		t.Errorf("revisions are %v", all)
	}
	w.change(provides, func() { provides.Spec.Chart.Version = "1.1.0" })
	w.revision(provides, 2)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := w.client.Get(context.Background(), types.NamespacedName{Name: "widgets." + group}, crd); err != nil {
		t.Fatal(err)
	}
	if _, ok := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["two"]; !ok {
		t.Error("the definition was not upgraded")
	}
	w.remove(provides)
	w.gone(provides)
	if err := w.client.Get(context.Background(), types.NamespacedName{Name: "widgets." + group}, crd); err != nil {
		t.Errorf("the definition did not stay: %v", err)
	}
}

// proves: F118
func TestInterruptedReleasesAreRepaired(t *testing.T) {
	t.Parallel()
	for _, status := range []helm.Status{helm.StatusPendingInstall, helm.StatusUninstalling, helm.StatusPendingUpgrade, helm.StatusPendingRollback} {
		t.Run(string(status), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := w.helmRelease("hr", withTemplate("a: 1"))
			w.start()
			w.revision(r, 1)
			w.stop()
			typed, err := kubernetes.NewForConfig(realServer.Config)
			if err != nil {
				t.Fatal(err)
			}
			records := storage.Init(driver.NewSecrets(typed.CoreV1().Secrets(w.target)))
			record, err := records.Get("hr", 1)
			if err != nil {
				t.Fatal(err)
			}
			record.Info.Status = status
			if status == helm.StatusPendingUpgrade || status == helm.StatusPendingRollback {
				record.Version = 2
				err = records.Create(record)
			} else {
				err = records.Update(record)
			}
			if err != nil {
				t.Fatal(err)
			}
			w.change(r, func() { r.Spec.ValuesSources[0].Template = ptr.To("a: 2") })
			w.start()
			w.until("repaired", func() error {
				if err := w.client.Get(context.Background(), client.ObjectKeyFromObject(r), r); err != nil {
					return err
				}
				c := w.configMap("hr-demo")
				return errorUnless(r.Status.Phase == v1alpha1.PhaseDeployed && c != nil && c.Data["values"] == `{"a":2,"greeting":"hello"}`, "not yet: "+r.Status.FailureMessage)
			})
			if all := w.revisions("hr"); all["deployed"] != 1 || all[string(status)] != 0 {
				t.Errorf("revisions are %v", all)
			}
		})
	}
}

// proves: F121, F122
func TestKindsThatAreGoneDoNotHoldUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	group := w.namespace + ".example.com"
	w.chart("widgets", "1.0.0", map[string]string{"crds/widgets.yaml": widgets(group, "one")})
	widget := "apiVersion: " + group + "/v1\nkind: Widget\nmetadata: {name: w}\nspec: {}\n"
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"
	provides := w.helmRelease("provides", func(r *v1alpha1.HelmRelease) { r.Spec.Chart.Name = "widgets" })
	upgraded, removed := w.manifests("upgraded", widget, text), w.manifests("removed", strings.Replace(widget, "name: w", "name: other", 1))
	w.start()
	w.revision(provides, 1)
	w.revision(upgraded, 1)
	w.revision(removed, 1)
	w.remove(&apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "widgets." + group}})
	w.until("the kind is gone", func() error {
		list := w.list(group+"/v1", "WidgetList")
		return errorUnless(w.client.List(context.Background(), list) != nil, "it is there")
	})
	w.remove(removed)
	w.gone(removed)
	w.change(upgraded, func() { upgraded.Spec.ManifestSources = upgraded.Spec.ManifestSources[1:] })
	w.revision(upgraded, 2)
	if w.configMap("one") == nil {
		t.Error("what stayed is gone")
	}
}
