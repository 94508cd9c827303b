package controller

import (
	"errors"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// knownKinds maps every kind that the controllers read.
func knownKinds() *meta.DefaultRESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	for _, k := range append(watched(), leftBehind()...) {
		m.Add(k.gvk(), meta.RESTScopeNamespace)
	}
	for _, name := range []string{"Cluster", "NodeGroup", "ClusterTemplate"} {
		m.Add(v1alpha1.GroupVersion().WithKind(name), meta.RESTScopeNamespace)
	}
	m.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
	return m
}

// newManager is one that is not started, so that it asks no API server.
func newManager(t *testing.T, kinds meta.RESTMapper) manager.Manager {
	t.Helper()
	mgr, err := ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, manager.Options{Metrics: metrics.Options{BindAddress: "0"},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return kinds, nil }})
	if err != nil {
		t.Fatal(err)
	}
	return mgr
}

func someChart() (*chart.Chart, error) { return testChart("1.0.0"), nil }

// full is a manager that takes only so many runnables.
type full struct {
	manager.Manager
	takes int
}

func (f *full) Add(r manager.Runnable) error {
	if f.takes--; f.takes < 0 {
		return errors.New("the manager is full")
	}
	return f.Manager.Add(r)
}

// TestControllersStart on a manager; what keeps them from it is told.
func TestControllersStart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		mgr   func(manager.Manager) manager.Manager
		kinds meta.RESTMapper
		chart func() (*chart.Chart, error)
		want  string
	}{
		"they start":             {func(m manager.Manager) manager.Manager { return m }, knownKinds(), someChart, ""},
		"without a chart":        {func(m manager.Manager) manager.Manager { return m }, knownKinds(), nil, "need a chart"},
		"without definitions":    {func(m manager.Manager) manager.Manager { return m }, meta.NewDefaultRESTMapper(nil), someChart, "creating the cache"},
		"no place for the cache": {func(m manager.Manager) manager.Manager { return &full{Manager: m} }, knownKinds(), someChart, "adding the cache: the manager is full"},
		"no place for them":      {func(m manager.Manager) manager.Manager { return &full{Manager: m, takes: 1} }, knownKinds(), someChart, "creating the controller: the manager is full"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := Setup(test.mgr(newManager(t, test.kinds)), Options{Chart: test.chart})
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// TestOptionsThatAreLeftOut have a default; those that are given stay.
func TestOptionsThatAreLeftOut(t *testing.T) {
	t.Parallel()
	mgr := newManager(t, knownKinds())
	o, err := Options{Chart: someChart}.complete(mgr)
	if err != nil {
		t.Fatal(err)
	}
	releases, ok := o.Releases.(*helmReleases)
	if !ok || releases.log == nil || releases.config.Host != mgr.GetConfig().Host || o.Log == nil || o.Resolver != (CloudResolver{}) || o.Revoker != nil || o.Clouds != nil {
		t.Errorf("%+v", o)
	}
	given := Options{Chart: someChart, Log: slog.Default(), Resolver: noResolver{}, Releases: &fakeReleases{}}
	if o, err = given.complete(mgr); err != nil || o.Log != given.Log || o.Resolver != given.Resolver || o.Releases != given.Releases {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestTheCacheFindsObjectsByTheirStack, clusters by their template as well; what is of no stack is in no list.
func TestTheCacheFindsObjectsByTheirStack(t *testing.T) {
	t.Parallel()
	cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: stack, Namespace: namespace}}
	cluster.Spec.TemplateRef.Name = "t34"
	group := newGroup("gpu")
	for _, i := range indexes() {
		var got, want []string
		switch o := i.object.(type) {
		case *v1alpha1.Cluster:
			got, want = i.values(cluster), map[string][]string{indexStack: {stack}, indexTemplate: {namespace + "/t34"}}[i.name]
		case *v1alpha1.NodeGroup:
			got, want = i.values(group), []string{stack}
		case *unstructured.Unstructured:
			if got := i.values(o); got != nil {
				t.Errorf("a %s of no stack is found by %v", o.GetKind(), got)
			}
			got, want = i.values(made(kind{}, namespace, "x", nil)), []string{stack}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%T by %s: %v, want %v", i.object, i.name, got, want)
		}
	}
}

// TestTheCacheKeepsWhatIsRead of other controllers' objects, and nothing else of them.
func TestTheCacheKeepsWhatIsRead(t *testing.T) {
	t.Parallel()
	o := func(spec, status map[string]any, annotations map[string]string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"spec": spec, "status": status}}
		u.SetAnnotations(annotations)
		return u
	}
	long := o(map[string]any{"replicas": int64(3), "template": map[string]any{"spec": map[string]any{"version": "v1.34.2", "bootstrap": map[string]any{"x": "y"}}}, "strategy": map[string]any{"type": "x"}},
		map[string]any{"phase": "Running", "notes": "many", "resources": []any{"x"}, "network": map[string]any{"id": "n"}}, map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}", "a": "b"})
	long.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "helm"}})
	short := o(map[string]any{"replicas": int64(3), "template": map[string]any{"spec": map[string]any{"version": "v1.34.2"}}}, map[string]any{"phase": "Running"}, map[string]string{"a": "b"})
	plain := o(map[string]any{"paused": true, "template": map[string]any{"spec": map[string]any{}}}, map[string]any{}, nil)
	metadata := secretMetadata()
	for _, test := range []struct{ given, want client.Object }{{long, short}, {plain, o(map[string]any{}, map[string]any{}, nil)}, {metadata, metadata}} {
		if got, err := slim(test.given); err != nil || !reflect.DeepEqual(got, any(test.want)) {
			t.Errorf("%+v, %v; want %+v", got, err, test.want)
		}
	}
}
