package adopting

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	addons "github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/internal/helm"
	"github.com/slipway-sh/slipway/stacks/takeover"
)

// certificate text is what Slipway counts and hands on; nobody here connects with it.
const authority = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"

// azimuth is a cluster as azimuth-ops makes it, seed or management cluster: with its
// operators by their charts, in their namespaces, with their definitions, and with a cluster
// and its addons.
func azimuth(t *testing.T, cluster string) *site {
	t.Helper()
	s := manageWith(t, theirs(t))
	go s.kubelet(t.Context())
	s.install("default", cluster, like(t, "0.27.0"), given())
	for _, name := range []string{"cluster-api-addon-provider", "cluster-api-janitor-openstack"} {
		s.helm(homes(name), name, operatorChart(t, name))
	}
	s.provider()
	for kind, fields := range map[string]map[string]any{
		"HelmRelease": {"chart": map[string]any{"repo": "https://charts.example", "name": "cni", "version": "1.2.3"}},
		"Manifests":   {"manifestSources": []any{map[string]any{"template": "a: b"}}},
	} {
		fields["clusterName"], fields["targetNamespace"], fields["bootstrap"] = cluster, "kube-system", true
		o := &unstructured.Unstructured{Object: map[string]any{"spec": fields}}
		o.SetGroupVersionKind(capi(kind))
		o.SetNamespace("default")
		o.SetName(cluster + map[string]string{"HelmRelease": "-cni", "Manifests": "-config"}[kind])
		o.SetAnnotations(map[string]string{"addons.stackhpc.com/last-handled-configuration": "{}"})
		must(t, s.client.Create(t.Context(), o))
		o.Object["status"] = map[string]any{"phase": "Deployed", "revision": int64(1)}
		must(t, s.client.Status().Update(t.Context(), o))
	}
	return s
}

// provider is one that azimuth-ops applied without Helm, as far as a plan looks at it.
func (s *site) provider() {
	s.t.Helper()
	o := &unstructured.Unstructured{}
	must(s.t, yaml.Unmarshal([]byte(`{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: default, name: capo-controller-manager}, spec: {replicas: 0, selector: {matchLabels: {a: b}},
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: manager, image: "registry.k8s.io/capi-openstack/capi-openstack-controller:v0.14.7"}]}}}}`), &o.Object))
	must(s.t, s.client.Create(s.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "capo-system"}}))
	o.SetNamespace("capo-system")
	must(s.t, s.client.Create(s.t.Context(), o))
}

func homes(name string) string {
	return map[string]string{"cluster-api-addon-provider": "capi-addon-system", "cluster-api-janitor-openstack": "capi-janitor-system"}[name]
}

// operatorChart is a chart that makes objects as that of one of Azimuth's operators.
func operatorChart(t *testing.T, name string) *chart.Chart {
	t.Helper()
	c, err := loader.Load(filepath.Join("testdata", "operators", name))
	must(t, err)
	return c
}

// helm installs an operator with the values of azimuth-ops, and some of an operator's own.
func (s *site) helm(namespace, name string, from *chart.Chart) {
	s.t.Helper()
	values := map[string]any{"trustBundle": authority, "config": map[string]any{"helmClient": map[string]any{"defaultTimeout": "5m"}}}
	if name == "cluster-api-janitor-openstack" {
		values = map[string]any{"defaultVolumesPolicy": "keep"}
	}
	h, err := helm.New(s.config, namespace, slog.New(slog.DiscardHandler))
	must(s.t, err)
	_, _, err = h.Ensure(s.t.Context(), helm.Wanted{Name: name, Chart: from, Values: values, Timeout: time.Minute})
	must(s.t, err)
}

// theirs are the definitions as cluster-api-addon-provider makes them: the same kinds and
// fields, without what Slipway has besides.
func theirs(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for file, text := range addons.Definitions() {
		var d unstructured.Unstructured
		must(t, yaml.Unmarshal(text, &d.Object))
		versions, _, _ := unstructured.NestedSlice(d.Object, "spec", "versions")
		version := versions[0].(map[string]any)
		unstructured.RemoveNestedField(version, "schema", "openAPIV3Schema", "properties", "spec", "properties", "chart", "properties", "digest")
		must(t, unstructured.SetNestedMap(version, map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}, "schema", "openAPIV3Schema", "properties", "status"))
		must(t, unstructured.SetNestedSlice(d.Object, versions, "spec", "versions"))
		text, err := yaml.Marshal(d.Object)
		must(t, err)
		all[file] = text
	}
	return all
}

// kubelet makes pods ready, which no node runs here.
func (s *site) kubelet(ctx context.Context) {
	for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		pods := &corev1.PodList{}
		if err := s.client.List(ctx, pods); err != nil {
			continue
		}
		for i := range pods.Items {
			pod := &pods.Items[i]
			if pod.Status.Phase == corev1.PodRunning {
				continue
			}
			pod.Status.Phase = corev1.PodRunning
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			_ = s.client.Status().Update(ctx, pod)
		}
	}
}

// everything is what there is of the environment, but for what the API server and
// controllers of Kubernetes write into any object.
func (s *site) everything() map[string]any {
	s.t.Helper()
	all := map[string]any{}
	kinds := []schema.GroupVersionKind{capi("Secret"), capi("ServiceAccount"), capi("Deployment"), capi("HelmRelease"), capi("Manifests"), capi("Namespace"),
		capi("ConfigMap"), capi("Service"), capi("ClusterRole"), capi("ClusterRoleBinding"), capi("Role"), capi("RoleBinding"), capi("PodDisruptionBudget"), capi("CustomResourceDefinition")}
	for _, kind := range kinds {
		for _, o := range s.list(kind, "") {
			name := kind.Kind + " " + o.GetNamespace() + "/" + o.GetName()
			if passing(kind.Kind, &o) {
				continue
			}
			metadata := map[string]any{"labels": without(o.GetLabels(), "modifiedAt"), // Helm's, of a record
				"annotations": without(o.GetAnnotations(), "deployment.kubernetes.io/revision")}
			delete(o.Object, "metadata")
			if kind.Kind != "HelmRelease" && kind.Kind != "Manifests" {
				delete(o.Object, "status")
			}
			o.Object["metadata"] = metadata
			text, err := json.Marshal(o.Object)
			must(s.t, err)
			var plain any
			must(s.t, json.Unmarshal(text, &plain))
			all[name] = plain
		}
	}
	return all
}

// passing is what is not of the environment.
func passing(kind string, o *unstructured.Unstructured) bool {
	switch kind {
	case "ClusterRole", "ClusterRoleBinding":
		return !strings.HasPrefix(o.GetName(), "cluster-api-")
	case "CustomResourceDefinition":
		return !strings.HasSuffix(o.GetName(), "addons.stackhpc.com")
	case "Namespace":
		return !strings.HasPrefix(o.GetName(), "capi-")
	}
	return o.GetNamespace() == "kube-system" && o.GetName() != "slipway-adopted-environment" || o.GetNamespace() == "kube-public" || o.GetNamespace() == "kube-node-lease"
}

func without(all map[string]string, key string) map[string]string {
	delete(all, key)
	if len(all) == 0 {
		return nil
	}
	return all
}

func spell(value any) string { return fmt.Sprintf("%v", value) }

// file writes a file for a test.
func (s *site) file(name string, text []byte) string {
	s.t.Helper()
	path := filepath.Join(s.t.TempDir(), name)
	must(s.t, os.WriteFile(path, text, 0o600))
	return path
}

// TestOriginalOperators takes releases of the original charts over, which are not here: the
// variable names a folder with one unpacked chart per version.
func TestOriginalOperators(t *testing.T) {
	folder := os.Getenv("SLIPWAY_AZIMUTH_OPERATORS")
	if folder == "" {
		t.Skip("SLIPWAY_AZIMUTH_OPERATORS names no folder with charts of Azimuth's operators: run make adopt-operators")
	}
	s := azimuth(t, "prod")
	entries, err := os.ReadDir(folder)
	must(t, err)
	for _, entry := range entries {
		t.Run(entry.Name(), func(t *testing.T) {
			s := &site{t, s.config, s.client, s.kubeconfig}
			c, err := loader.Load(filepath.Join(folder, entry.Name()))
			must(t, err)
			h, err := helm.New(s.config, homes(c.Name()), slog.New(slog.DiscardHandler))
			must(t, err)
			_, err = h.Uninstall(c.Name(), time.Minute)
			must(t, err)
			s.helm(homes(c.Name()), c.Name(), c)
			before := s.everything()
			plan := s.look(s.config, takeover.Options{Image: "registry.example/slipway:v9"})
			must(t, plan.Refused())
			_, err = plan.Take(t.Context(), silent)
			must(t, err)
			s.runs()
			s.givesBack(before)
		})
	}
}
