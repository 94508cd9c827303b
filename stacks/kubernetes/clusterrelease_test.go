package kubernetes

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

const clusterDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: clusters.cluster.x-k8s.io}
spec:
  group: cluster.x-k8s.io
  scope: Namespaced
  names: {kind: Cluster, plural: clusters}
  versions:
    - name: v1beta2
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// TestARunThatWasKilledKeepsItsCluster: the release of a killed run says that it is being
// installed, or upgraded; its Cluster may have machines by then. A release whose Cluster
// somebody deleted makes it again.
func TestARunThatWasKilledKeepsItsCluster(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	on, err := kube.New(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	server.Serve(t, []byte(clusterDefinition))
	in := ClusterInputs{Name: "c", Namespace: "default", Chart: smallChart(t)}
	at := on.Dynamic.Resource(schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "clusters"}).Namespace("default")
	reconciled := func() types.UID {
		t.Helper()
		if err := release(t.Context(), on, server.Config, in, map[string]any{}); err != nil {
			t.Fatal(err)
		}
		cluster, err := at.Get(t.Context(), "c", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return cluster.GetUID()
	}
	first := reconciled()
	releases := storage.Init(driver.NewSecrets(on.Typed.CoreV1().Secrets("default")))
	for _, status := range []helmrelease.Status{helmrelease.StatusPendingInstall, helmrelease.StatusPendingUpgrade} {
		last, err := releases.Last("c")
		if err != nil {
			t.Fatal(err)
		}
		last.Info.Status = status
		if err := releases.Update(last); err != nil {
			t.Fatal(err)
		}
		if now := reconciled(); now != first {
			t.Errorf("%s: the Cluster was made anew", status)
		}
	}
	if err := at.Delete(t.Context(), "c", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if again := reconciled(); again == first {
		t.Error("the Cluster was not deleted")
	}
}

// smallChart is the ClusterInputs.Chart of a chart with nothing but a Cluster.
func smallChart(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{"Chart.yaml": "apiVersion: v2\nname: small\nversion: 1.0.0\n",
		"templates/cluster.yaml": "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: {{ .Release.Name }}}\n"} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(config.Chart{Name: folder})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
