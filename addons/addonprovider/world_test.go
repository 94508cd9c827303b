package addonprovider

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/internal/charts"
)

// patienceOfTests is how long anything may take in a test with a real server.
const patienceOfTests = 150 * time.Second

// world is a management cluster that is its own target, with a running provider
// and a namespace for one test.
type world struct {
	t         *testing.T
	client    client.Client
	namespace string
	// target is the namespace that releases of the test go in.
	target string
	charts string
	stop   func()
	setup  func(*Options)
}

var definitionsOnce sync.Once

// newWorld starts a provider that sees only its test's namespace.
func newWorld(t *testing.T, change ...func(*Options)) *world {
	t.Helper()
	if realServer == nil {
		t.Skip("SLIPWAY_BUNDLE names no bundle: run make e2e")
	}
	c, err := client.New(realServer.Config, client.Options{Scheme: testScheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, client: c, charts: t.TempDir()}
	definitionsOnce.Do(func() { w.define() })
	w.namespace = w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-"}}).GetName()
	w.target = w.namespace + "-target"
	w.setup = func(o *Options) {
		for _, f := range change {
			f(o)
		}
	}
	w.chart("demo", "1.0.0", demoTemplates())
	w.cluster("c", true)
	return w
}

// start runs a provider until stop, or the test's end.
func (w *world) start() {
	w.t.Helper()
	mgr, err := ctrl.NewManager(realServer.Config, ctrl.Options{
		Scheme: testScheme(w.t), Metrics: server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	options := Options{ChartsDir: w.charts, CacheDir: w.t.TempDir(), RetryDelay: 500 * time.Millisecond, Namespace: w.namespace}
	w.setup(&options)
	if err := Setup(mgr, options); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	var once sync.Once
	w.stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				w.t.Errorf("provider: %v", err)
			}
		})
	}
	w.t.Cleanup(w.stop)
}

// define applies the definitions: ours, and stand-ins for Cluster API's.
func (w *world) define() {
	for _, text := range v1alpha1.Definitions() {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, crd); err != nil {
			w.t.Fatal(err)
		}
		w.create(crd)
	}
	w.create(standIn("cluster.x-k8s.io", "Cluster", "clusters"))
	w.create(standIn("infrastructure.cluster.x-k8s.io", "OpenStackCluster", "openstackclusters"))
	w.until("definitions are served", func() error {
		return errors.Join(w.client.List(context.Background(), w.list("cluster.x-k8s.io/v1beta1", "ClusterList")),
			w.client.List(context.Background(), w.list("infrastructure.cluster.x-k8s.io/v1beta1", "OpenStackClusterList")),
			w.client.List(context.Background(), &v1alpha1.HelmReleaseList{}), w.client.List(context.Background(), &v1alpha1.ManifestsList{}))
	})
}

func (w *world) list(apiVersion, kind string) *unstructured.UnstructuredList {
	l := &unstructured.UnstructuredList{}
	l.SetAPIVersion(apiVersion)
	l.SetKind(kind)
	return l
}

// standIn is a definition of a kind with any fields.
func standIn(group, kind, plural string) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List", Plural: plural, Singular: strings.ToLower(kind)},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1beta1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: ptr.To(true)}},
			}},
		},
	}
}

func (w *world) create(object client.Object) client.Object {
	w.t.Helper()
	if err := w.client.Create(context.Background(), object); err != nil && !apierrors.IsAlreadyExists(err) {
		w.t.Fatal(err)
	}
	return object
}

// cluster makes a Cluster with its infrastructure, credential and kubeconfig.
func (w *world) cluster(name string, ready bool) {
	w.t.Helper()
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name + "-cloud-credentials"},
		Data: map[string][]byte{"clouds.yaml": []byte("clouds: {openstack: {}}\n"), "cacert": []byte("---")}})
	w.create(object("infrastructure.cluster.x-k8s.io/v1beta1", "OpenStackCluster", w.namespace, name, map[string]any{
		"spec":   map[string]any{"identityRef": map[string]any{"name": name + "-cloud-credentials", "cloudName": "openstack"}},
		"status": map[string]any{"network": map[string]any{"name": "net1"}, "externalNetwork": map[string]any{"id": "ext1"}},
	}))
	conditions := []any{map[string]any{"type": "ControlPlaneInitialized", "status": "True"}}
	if ready {
		conditions = append(conditions, map[string]any{"type": "Ready", "status": "True"})
	}
	w.create(object("cluster.x-k8s.io/v1beta1", "Cluster", w.namespace, name, map[string]any{
		"spec": map[string]any{
			"controlPlaneEndpoint": map[string]any{"host": "192.0.2.7", "port": int64(6443)},
			"infrastructureRef":    map[string]any{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "OpenStackCluster", "name": name},
		},
		"status": map[string]any{"phase": "Provisioned", "conditions": conditions},
	}))
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name + "-kubeconfig"},
		Data: map[string][]byte{"value": realServer.Kubeconfig}})
}

func object(apiVersion, kind, namespace, name string, content map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: content}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// chart puts a chart into the folder of charts.
func (w *world) chart(name, version string, files map[string]string) {
	w.t.Helper()
	saveChart(w.t, w.charts, "https://charts.example.com", name, version, files)
}

// saveChart packs a chart into a folder and its index. Files under crds/ are
// definitions, values.yaml is values, others are templates.
func saveChart(t *testing.T, dir, repository, name, version string, files map[string]string) string {
	t.Helper()
	ch := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: name, Version: version}}
	for path, text := range files {
		file := &chart.File{Name: path, Data: []byte(text)}
		switch {
		case strings.HasPrefix(path, "templates/"):
			ch.Templates = append(ch.Templates, file)
		case path == "values.yaml":
			ch.Raw = append(ch.Raw, file)
		case path == "values.schema.json":
			ch.Schema = file.Data
		default:
			ch.Files = append(ch.Files, file)
		}
	}
	path, err := chartutil.Save(ch, dir)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	index, err := charts.ReadIndex(dir)
	if err != nil {
		t.Fatal(err)
	}
	index.Charts = append(index.Charts, charts.Entry{Repository: repository, Name: name, Version: version,
		File: filepath.Base(path), Digest: charts.Digest(data)})
	text, err := json.Marshal(index)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, charts.IndexFile), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func demoTemplates() map[string]string {
	return map[string]string{
		"values.yaml":              "greeting: hello\n",
		"templates/configmap.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-demo\ndata:\n  values: {{ toJson .Values | quote }}\n",
		"templates/NOTES.txt":      "{{ .Values.greeting }} from {{ .Release.Name }}",
	}
}
