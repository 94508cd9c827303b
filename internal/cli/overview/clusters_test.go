package overview

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/kube"
)

// TestHiddenCausesHaveALine: a cluster that Cluster API calls ready, and that is not well
// itself; that a cluster could not be asked is one line, and no trouble.
func TestHiddenCausesHaveALine(t *testing.T) {
	t.Parallel()
	r := whole()
	r.Clusters[0].Findings = []cause.Finding{
		{Reason: "cluster-webhook-down", Object: cause.Ref{Kind: "webhook", Name: "validate.example.com"}, Cause: "its service has no ready endpoints", Source: "Kubernetes", Since: now().Add(-time.Hour), Ending: cause.Outside},
		{Object: cause.Ref{Kind: "port", Name: "p"}, Cause: "it is DOWN", Ending: cause.Passing}}
	text := strings.Join(printed(t, r.Table(false, false, now())), "\n")
	for _, want := range []string{"webhook", "validate.example.com", "its service has no ready endpoints", "since 60m", "Not all is well: webhook validate.example.com: its service has no ready endpoints (since"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "it is DOWN") {
		t.Errorf("what passes has a line:\n%s", text)
	}
	r = whole()
	for i := range 3 {
		r.Clusters = append(r.Clusters, Cluster{"management", clusterapi.Report{Name: fmt.Sprint("shop-", i), Exists: true, Parts: r.Clusters[0].Parts, Unseen: []cause.Unseen{{What: cause.WithinCluster, Why: "no answer"}, {What: cause.TheCloud, Why: "x"}}}})
	}
	text = strings.Join(printed(t, r.Table(false, false, now())), "\n")
	if !strings.Contains(text, "not looked into cluster shop-0: no answer (and 2 more)\nAll is well") {
		t.Errorf("three clusters that were not asked:\n%s", text)
	}
}

// TestClustersThatAreSilentCostSecondsTogether: they take connections and answer nothing, and
// are asked side by side, within the time there is.
func TestClustersThatAreSilentCostSecondsTogether(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	const many = 30
	on := &kube.Cluster{Dynamic: management(t, many)}
	way := func(context.Context, string, string) (*rest.Config, string, error) {
		return &rest.Config{Host: "https://" + silent.Addr().String()}, "this machine", nil
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, fmt.Errorf("2 s are over"))
	defer cancel()
	began := time.Now()
	list, err := clusters(ctx, on, "management", way)
	if took := time.Since(began); err != nil || len(list) != many || took > askTime {
		t.Fatalf("%d clusters after %s: %v", len(list), took, err)
	}
	for _, c := range list {
		if len(c.Findings) == 0 && len(c.Unseen) == 0 {
			t.Errorf("nothing is said of cluster %s", c.Name)
		}
	}
}

// TestAClusterIsAskedItself, and what the network says of its API is its cause.
func TestAClusterIsAskedItself(t *testing.T) {
	t.Parallel()
	on := &kube.Cluster{Dynamic: management(t, 1)}
	list, err := clusters(t.Context(), on, "management", func(context.Context, string, string) (*rest.Config, string, error) {
		return &rest.Config{Host: "https://127.0.0.1:1"}, "this machine", nil
	})
	if err != nil || len(list) != 1 || len(list[0].helpless()) != 1 || list[0].Findings[0].Reason != "api-refused" {
		t.Errorf("%+v, %v", list, err)
	}
}

// management is a Cluster API with clusters that have an API, and are available.
func management(t *testing.T, many int) *fake.FakeDynamicClient {
	t.Helper()
	lists := map[schema.GroupVersionResource]string{}
	for group, names := range map[string]string{"v1": "events secrets pods", "apps/v1": "deployments", "cluster.x-k8s.io/v1beta2": "clusters machines machinedeployments machinehealthchecks",
		"controlplane.cluster.x-k8s.io/v1beta2": "kubeadmcontrolplanes", "infrastructure.cluster.x-k8s.io/v1beta1": "openstackclusters openstackmachines",
		"infrastructure.cluster.x-k8s.io/v1alpha1": "openstackservers", "addons.stackhpc.com/v1alpha1": "helmreleases manifests", "openstack.k-orc.cloud/v1alpha1": "servergroups"} {
		for _, name := range strings.Fields(names) {
			version, _ := schema.ParseGroupVersion(group)
			lists[version.WithResource(name)] = name + "List"
		}
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists)
	kind := schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "clusters"}
	for i := range many {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": map[string]any{"namespace": "prod", "name": fmt.Sprint("shop-", i)},
			"status": map[string]any{"phase": "Provisioned", "conditions": []any{map[string]any{"type": "Available", "status": "True"}, map[string]any{"type": "ControlPlaneInitialized", "status": "True"}}}}}
		if _, err := client.Resource(kind).Namespace("prod").Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return client
}
