package clusterctl

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

// definitionOf is a definition of the operator's, as far as the API server needs it.
func definitionOf(kind string) string {
	return strings.NewReplacer("PodMonitor", kind, "podmonitors", strings.ToLower(kind)+"s").Replace(podMonitors)
}

const podMonitors = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: podmonitors.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  names: {kind: PodMonitor, plural: podmonitors}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// TestCAPOAndCertManagerAreMonitoredWhereSomebodyLooks has a real API server without,
// with and again without the operator's definition of PodMonitors.
//
// proves: F26, F29
func TestCAPOAndCertManagerAreMonitoredWhereSomebodyLooks(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	cluster, err := kube.New(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Apply(t.Context(), []byte("{apiVersion: v1, kind: Namespace, metadata: {name: capo-system}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: cert-manager}}\n")); err != nil {
		t.Fatal(err)
	}
	i := Installation{Cluster: cluster}
	monitor := func() {
		t.Helper()
		for range 2 { // the second time there is nothing to do
			if err := i.Monitor(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	monitor()
	expect(t, cluster, false)

	server.Serve(t, []byte(podMonitors))
	monitor() // an operator in parts: no rules yet
	server.Serve(t, []byte(definitionOf("PrometheusRule")+"---\n"+definitionOf("ServiceMonitor")))
	monitor()
	expect(t, cluster, true)
	var token []byte
	for end := time.Now().Add(20 * time.Second); len(token) == 0 && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		secret, err := cluster.Typed.CoreV1().Secrets(capoNamespace).Get(t.Context(), "capo-metrics-reader", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		token = secret.Data["token"]
	}
	if len(token) == 0 {
		t.Error("Prometheus has no token")
	}

	definition := decoded(t, podMonitors)
	client, err := cluster.Resource(definition)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Delete(t.Context(), definition.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if there, err := cluster.Exists("monitoring.coreos.com", "PodMonitor"); err == nil && !there {
			break
		}
	}
	monitor()
	expect(t, cluster, false)
}

// expect wants the PodMonitors, the dashboard and the right to read there, or
// nothing of them.
func expect(t *testing.T, cluster *kube.Cluster, want bool) {
	t.Helper()
	for _, text := range []string{
		"{apiVersion: monitoring.coreos.com/v1, kind: PodMonitor, metadata: {name: capo-controller-manager, namespace: capo-system}}",
		"{apiVersion: monitoring.coreos.com/v1, kind: PodMonitor, metadata: {name: cert-manager, namespace: cert-manager}}",
		"{apiVersion: monitoring.coreos.com/v1, kind: PrometheusRule, metadata: {name: slipway-alerts, namespace: capo-system}}",
		"{apiVersion: monitoring.coreos.com/v1, kind: ServiceMonitor, metadata: {name: slipway-controllers, namespace: capo-system}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: capo-grafana-dashboard, namespace: capo-system}}",
		"{apiVersion: v1, kind: Secret, metadata: {name: capo-metrics-reader, namespace: capo-system}}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: capo-metrics-reader}}",
	} {
		object := decoded(t, text)
		if there, err := has(t.Context(), cluster, object); err != nil || there != want {
			t.Errorf("%s: there %v, want %v; %v", kube.Describe(object), there, want, err)
		}
	}
}

func has(ctx context.Context, cluster *kube.Cluster, object *unstructured.Unstructured) (bool, error) {
	client, err := cluster.Resource(object)
	if err == nil {
		_, err = client.Get(ctx, object.GetName(), metav1.GetOptions{})
	}
	if err != nil && kube.Absent(err) {
		return false, nil
	}
	return err == nil, err
}

func decoded(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

// TestCAPOServesItsMetricsToWhoMayReadThem wants its default replaced, and an
// operator's choice kept.
//
// proves: F29
func TestCAPOServesItsMetricsToWhoMayReadThem(t *testing.T) {
	t.Parallel()
	const manager = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: capo-controller-manager}, spec: {template: {spec: {containers: [{name: manager, ports: [{name: healthz, containerPort: 9440}], args: "
	for name, test := range map[string]struct{ args, want, ports string }{
		"default": {`["--v=2","--diagnostics-address=127.0.0.1:8080","--insecure-diagnostics=true"]`,
			`["--v=2","--diagnostics-address=:8443","--insecure-diagnostics=false"]`,
			`[{"containerPort":9440,"name":"healthz"},{"containerPort":8443,"name":"metrics","protocol":"TCP"}]`},
		"an address of the operator's": {`["--diagnostics-address=:9999","--insecure-diagnostics=true"]`,
			`["--diagnostics-address=:9999","--insecure-diagnostics=true"]`, `[{"containerPort":9440,"name":"healthz"}]`},
		"other arguments": {`["--v=2"]`, `["--v=2"]`, `[{"containerPort":9440,"name":"healthz"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := decoded(t, manager+test.args+"}]}}}}")
			if err := serveMetrics([]*unstructured.Unstructured{decoded(t, "{apiVersion: v1, kind: Namespace, metadata: {name: x}}"), object}); err != nil {
				t.Fatal(err)
			}
			containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
			container := containers[0].(map[string]any)
			args, _ := json.Marshal(container["args"])
			ports, _ := json.Marshal(container["ports"])
			if string(args) != test.want || string(ports) != test.ports {
				t.Errorf("args %s, ports %s", args, ports)
			}
		})
	}
}
