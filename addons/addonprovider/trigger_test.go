package addonprovider

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
)

// proves: F114
func TestChangesOfSourcesUpgrade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	long := strings.Repeat("very-", 18) + "long-secret" // does not fit into a label or an annotation's name
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: long}, Data: map[string][]byte{"values.yaml": []byte("a: 1")}}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "with.dot"}, Data: map[string]string{"k": "b: 1"}}
	w.create(secret)
	w.create(config)
	r := w.helmRelease("hr", func(r *v1alpha1.HelmRelease) {
		r.Spec.ValuesSources = []v1alpha1.ValuesSource{{Secret: &v1alpha1.NameKey{Name: long}}, {ConfigMap: &v1alpha1.NameKey{Name: "with.dot", Key: "k"}}}
	})
	w.start()
	w.revision(r, 1)
	w.change(secret, func() { secret.Data["values.yaml"] = []byte("a: 2") })
	w.revision(r, 2)
	w.change(config, func() { config.Data["k"] = "b: 2" })
	w.revision(r, 3)
	if got := w.configMap("hr-demo").Data["values"]; got != `{"a":2,"b":2,"greeting":"hello"}` {
		t.Errorf("values are %s", got)
	}
	// A source that is missing is said, and no reason to uninstall; when it
	// comes back as it was, there is nothing to do.
	if err := w.client.Delete(context.Background(), config); err != nil {
		t.Fatal(err)
	}
	w.reason(r, v1alpha1.ReasonSourceMissing)
	w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "with.dot"}, Data: map[string]string{"k": "b: 2"}})
	w.reason(r, v1alpha1.ReasonDeployed)
	if r.Status.Revision != 3 {
		t.Errorf("revision is %d", r.Status.Revision)
	}
}

// proves: F114, F124
func TestNewCredentialReachesTheCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.manifests("cloud-config", `apiVersion: v1
kind: Secret
metadata:
  name: cloud-config
data:
  {{ cloud_identity.data | toyaml | indent(2) }}
stringData:
  cloud.conf: |
    [Global]
    use-clouds=true
    clouds-file=/etc/config/clouds.yaml
    cloud=openstack
{%- if "cacert" in cloud_identity.data %}
    ca-file=/etc/config/cacert
{%- endif %}
    [Networking]
    internal-network-name={{ infra_cluster.status.network.name }}
`)
	w.start()
	w.revision(m, 1)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "c-cloud-credentials"}}
	began := time.Now()
	w.change(secret, func() { secret.Data["clouds.yaml"] = []byte("clouds: {openstack: {new: true}}\n") })
	w.revision(m, 2)
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %s", took)
	}
	got := &corev1.Secret{}
	if err := w.client.Get(context.Background(), types.NamespacedName{Namespace: w.target, Name: "cloud-config"}, got); err != nil {
		t.Fatal(err)
	}
	if string(got.Data["clouds.yaml"]) != string(secret.Data["clouds.yaml"]) ||
		string(got.Data["cloud.conf"]) != "[Global]\nuse-clouds=true\nclouds-file=/etc/config/clouds.yaml\ncloud=openstack\nca-file=/etc/config/cacert\n[Networking]\ninternal-network-name=net1" {
		t.Errorf("cloud-config is %q", got.Data)
	}
}

// proves: F127
func TestChangesOfTheClusterUpgrade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.helmRelease("hr", withTemplate("host: {{ cluster.spec.controlPlaneEndpoint.host }}\nnet: {{ infra_cluster.status.network.name }}"))
	w.start()
	w.revision(r, 1)
	cluster := w.clusterObject("c")
	w.change(cluster, func() {
		unstructured.SetNestedField(cluster.Object, "192.0.2.8", "spec", "controlPlaneEndpoint", "host") //nolint:errcheck // of the test's own making
	})
	w.revision(r, 2)
	infra := object("infrastructure.cluster.x-k8s.io/v1beta1", "OpenStackCluster", w.namespace, "c", map[string]any{})
	w.change(infra, func() {
		unstructured.SetNestedField(infra.Object, "net2", "status", "network", "name") //nolint:errcheck // of the test's own making
	})
	w.revision(r, 3)
	if got := w.configMap("hr-demo").Data["values"]; got != `{"greeting":"hello","host":"192.0.2.8","net":"net2"}` {
		t.Errorf("values are %s", got)
	}
}

// proves: F111
func TestGate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cluster("young", false)
	at := func(cluster string, bootstrap bool) func(*v1alpha1.HelmRelease) {
		return func(r *v1alpha1.HelmRelease) { r.Spec.ClusterName, r.Spec.Bootstrap = cluster, bootstrap }
	}
	first, second := w.helmRelease("first", at("young", true)), w.helmRelease("second", at("young", false))
	w.start()
	w.revision(first, 1)
	w.reason(second, v1alpha1.ReasonClusterNotReady)
	if second.Status.Phase != v1alpha1.PhasePending || w.configMap("second-demo") != nil || second.Labels[v1alpha1.ClusterLabel] != "young" {
		t.Errorf("it is %+v", second)
	}
	cluster := w.clusterObject("young")
	w.change(cluster, func() { // as v1beta2 says it
		conditions := []any{map[string]any{"type": "Available", "status": "True"}, map[string]any{"type": "ControlPlaneInitialized", "status": "True"}}
		unstructured.SetNestedSlice(cluster.Object, conditions, "status", "conditions") //nolint:errcheck // of the test's own making
	})
	w.revision(second, 1)
}

// proves: F123
func TestChartThatIsPublishedLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := t.TempDir()
	var published atomic.Bool
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, q *http.Request) {
		asked.Add(1)
		switch {
		case !published.Load():
			http.NotFound(rw, q)
		case q.URL.Path == "/index.yaml":
			rw.Write([]byte("apiVersion: v1\nentries:\n  late:\n  - version: 1.0.0\n    urls: [late-1.0.0.tgz]\n")) //nolint:errcheck // a test's answer
		default:
			http.FileServer(http.Dir(dir)).ServeHTTP(rw, q)
		}
	}))
	t.Cleanup(server.Close)
	saveChart(t, dir, server.URL, "late", "1.0.0", demoTemplates())
	r := w.helmRelease("hr", func(r *v1alpha1.HelmRelease) {
		r.Spec.Chart = v1alpha1.Chart{Repo: server.URL, Name: "late", Version: "v1.0.0"}
	})
	w.start()
	message := w.reason(r, v1alpha1.ReasonChartUnavailable)
	if !strings.Contains(message, "404") || r.Status.Phase == v1alpha1.PhaseFailed || r.Status.FailureMessage == "" {
		t.Errorf("phase %s, message %q", r.Status.Phase, message)
	}
	published.Store(true)
	w.revision(r, 1)
	if r.Status.ChartDigest == "" || r.Status.Failures != 0 || r.Status.FailureMessage != "" {
		t.Errorf("status is %+v", r.Status)
	}
	if n := asked.Load(); n > 20 {
		t.Errorf("the repository was asked %d times", n)
	}
}

// proves: F129
func TestDriftIsCorrected(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *Options) { o.ResyncPeriod = 2 * time.Second })
	files := demoTemplates()
	files["templates/deployment.yaml"] = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: example.com/web}]}
`
	w.chart("web", "1.0.0", files)
	r := w.helmRelease("hr", func(r *v1alpha1.HelmRelease) { r.Spec.Chart.Name = "web" })
	w.start()
	w.revision(r, 1)
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.target, Name: "web"}}
	if err := w.client.Delete(context.Background(), web); err != nil {
		t.Fatal(err)
	}
	demo := w.configMap("hr-demo")
	w.change(demo, func() { demo.Data["values"] = "changed by hand" })
	w.until("what was deleted is back", func() error { return w.client.Get(context.Background(), client.ObjectKeyFromObject(web), web) })
	w.until("what was changed is back", func() error {
		return errorUnless(w.configMap("hr-demo").Data["values"] == `{"greeting":"hello"}`, "it is not")
	})
	if web.Annotations["meta.helm.sh/release-name"] != "hr" || w.revisions("hr")["deployed"] != 1 || len(w.revisions("hr")) != 1 {
		t.Errorf("annotations %v, revisions %v", web.Annotations, w.revisions("hr"))
	}
}
