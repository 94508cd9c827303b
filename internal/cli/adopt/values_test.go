package adopt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/slipway-sh/slipway/internal/helm"
	"github.com/slipway-sh/slipway/stacks/workload"
	"github.com/slipway-sh/slipway/stacks/workload/adopt"
)

// onlyRelease is the only release of a management cluster.
type onlyRelease struct{ release *helmrelease.Release }

func (o onlyRelease) Last(string, string) (*helmrelease.Release, error)  { return o.release, nil }
func (o onlyRelease) TakeOver(*helmrelease.Release, helm.Takeover) error { return nil }
func (o onlyRelease) Settle(*helmrelease.Release) error                  { return nil }
func (o onlyRelease) GiveBack(*helmrelease.Release) error                { return nil }

// TestValuesOfARunThatEndedEarly are written by the next one, and over no file that somebody
// has changed.
func TestValuesOfARunThatEndedEarly(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).Build()
	cluster := &unstructured.Unstructured{}
	cluster.SetGroupVersionKind(schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Cluster"})
	cluster.SetNamespace("shops")
	cluster.SetName("shop")
	record := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "sh.helm.release.v1.shop.v2", Labels: map[string]string{"owner": "helm", "name": "shop"}}}
	for _, o := range []client.Object{cluster, record} {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	release := &helmrelease.Release{Name: "shop", Namespace: "shops", Version: 2, Labels: map[string]string{workload.LabelCluster: "shop"},
		Chart: &chart.Chart{Metadata: &chart.Metadata{Name: "openstack-cluster"}}, Info: &helmrelease.Info{Status: helmrelease.StatusDeployed},
		Config: map[string]any{"kubernetesVersion": "1.34.2", "adopted": map[string]any{"addons": []any{}}, "clouds": map[string]any{"openstack": "secret"}}}
	plan, err := adopt.New(t.Context(), adopt.Site{Client: c, Releases: onlyRelease{release}}, "shop", "")
	if err != nil || plan.Clusters[0].Verdict != adopt.Ours {
		t.Fatalf("%+v, %v", plan, err)
	}
	o := &clusterOptions{values: filepath.Join(t.TempDir(), "values")}
	file := filepath.Join(o.values, "shop.yaml")
	if err := o.write(plan); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || strings.TrimSpace(string(text)) != "kubernetesVersion: 1.34.2" {
		t.Errorf("%s, %v", text, err)
	}
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := o.write(plan); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "mine" {
		t.Errorf("%s, %v", text, err)
	}
}
