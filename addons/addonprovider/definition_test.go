package addonprovider

import (
	"context"
	_ "embed" // the objects
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
)

// objects are addons in every form in which the charts of clusters render them.
//
//go:embed testdata/objects.yaml
var objects string

// rendered is what chart 0.27.0 renders.
//
//go:embed testdata/chart-0.27.0.yaml
var rendered string

// proves: F110
func TestDefinitionsTakeWhatChartsRender(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dyn, err := dynamic.NewForConfig(realServer.Config)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for text := range strings.SplitSeq(objects+"\n---\n"+rendered, "\n---\n") {
		sent := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &sent.Object); err != nil {
			t.Fatal(err)
		}
		resource := schema.GroupVersionResource{Group: v1alpha1.Group, Version: "v1alpha1", Resource: strings.ToLower(sent.GetKind())}
		if sent.GetKind() == "HelmRelease" {
			resource.Resource += "s"
		}
		options := metav1.ApplyOptions{FieldManager: "kubectl", Force: true}
		stored, err := dyn.Resource(resource).Namespace(w.namespace).Apply(context.Background(), sent.GetName(), sent, options)
		if err != nil {
			t.Errorf("%s: %v", sent.GetName(), err)
			continue
		}
		if asJSON(t, sent.Object["spec"]) != asJSON(t, stored.Object["spec"]) || !reflect.DeepEqual(sent.GetLabels(), stored.GetLabels()) {
			t.Errorf("%s was stored as %v", sent.GetName(), stored.Object["spec"])
		}
		kinds[sent.GetKind()]++
	}
	if kinds["HelmRelease"] < 18 || kinds["Manifests"] < 5 {
		t.Errorf("applied are %v", kinds)
	}
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestDefinitionsRefuseWhatIsWrong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, change := range map[string]func(*v1alpha1.HelmRelease){
		"no cluster":   func(r *v1alpha1.HelmRelease) { r.Spec.ClusterName = "" },
		"namespace":    func(r *v1alpha1.HelmRelease) { r.Spec.TargetNamespace = "Not_One" },
		"version":      func(r *v1alpha1.HelmRelease) { r.Spec.Chart.Version = "1.0" },
		"repository":   func(r *v1alpha1.HelmRelease) { r.Spec.Chart.Repo = "file:///etc" },
		"digest":       func(r *v1alpha1.HelmRelease) { r.Spec.Chart.Digest = "md5:1" },
		"empty source": func(r *v1alpha1.HelmRelease) { r.Spec.ValuesSources = []v1alpha1.ValuesSource{{}} },
		"two in a source": func(r *v1alpha1.HelmRelease) {
			withTemplate("a: 1")(r)
			r.Spec.ValuesSources[0].Secret = &v1alpha1.NameKey{Name: "s"}
		},
		"action": func(r *v1alpha1.HelmRelease) {
			r.Spec.LifecycleHooks.PreDelete = []v1alpha1.LifecycleHook{hook("exec", "Pod", "p", "")}
		},
	} {
		r := &v1alpha1.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "wrong"}, Spec: v1alpha1.HelmReleaseSpec{
			AddonSpec: v1alpha1.AddonSpec{ClusterName: "c", TargetNamespace: "ns"},
			Chart:     v1alpha1.Chart{Repo: "oci://registry.example.com/charts", Name: "demo", Version: "v1.0.0-rc.1+x"}}}
		change(r)
		if err := w.client.Create(context.Background(), r); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
