package why

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cause/look"
	"github.com/slipway-sh/slipway/internal/cli/witness"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/clusterapi/within"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/internal/support"
	"github.com/slipway-sh/slipway/stacks/workload"
)

// TestClustersAreAskedThemselves: those whose control plane was up once, in parallel with
// the cloud; what the network says of an API is a cause, or is told as not seen.
func TestClustersAreAskedThemselves(t *testing.T) {
	t.Parallel()
	on := cluster(t, sandboxtest.Start(t))
	clusters := schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "clusters"}
	shop, err := on.Client.Resource(clusters).Namespace("prod").Get(t.Context(), "shop", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	conditions := []any{map[string]any{"type": "ControlPlaneInitialized", "status": "True"}, map[string]any{"type": "RemoteConnectionProbe", "status": "False", "message": "Remote connection probe failed"}}
	if err := unstructured.SetNestedSlice(shop.Object, conditions, "status", "conditions"); err != nil {
		t.Fatal(err)
	}
	if _, err := on.Client.Resource(clusters).Namespace("prod").Update(t.Context(), shop, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	all, err := clusterapi.ReadAll(t.Context(), on.Client, metav1.NamespaceAll)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(way within.Way) (support.Answers, []string) {
		var lock sync.Mutex
		var asked []string
		on.Way = func(ctx context.Context, namespace, name string) (*rest.Config, string, error) {
			lock.Lock()
			asked = append(asked, namespace+"/"+name)
			lock.Unlock()
			return way(ctx, namespace, name)
		}
		scenes := witness.Scenes(t.Context(), on, all, look.NewCache(time.Now), "", "", time.Now())
		return support.Snapshots{Environment: "prod", Scenes: scenes}.Explain("", ""), asked
	}
	refused := func(context.Context, string, string) (*rest.Config, string, error) {
		return &rest.Config{Host: "https://127.0.0.1:1"}, "the seed", nil
	}
	// What describe and list say of the cluster is the same.
	same := func(answers support.Answers) {
		t.Helper()
		m := workload.Management{Kube: &kube.Cluster{Dynamic: on.Client}, Way: on.Way}
		for _, closer := range []bool{true, false} {
			for _, r := range m.Reports(t.Context(), all, closer, func(r clusterapi.Report) bool { return r.Name == "shop" }) {
				i := slices.IndexFunc(answers.Answers, func(a support.Answer) bool { return a.Cluster == r.Name })
				if r.Name == "shop" && (i < 0 || lines(r.Findings) != lines(answers.Answers[i].Findings)) {
					t.Errorf("describe says %q, why says %q", lines(r.Findings), lines(answers.Answers[i].Findings))
				}
			}
		}
	}
	answers, asked := ask(refused)
	same(answers)
	if text := answers.Text(); !slices.Equal(asked, []string{"prod/shop"}) || !strings.Contains(text, "its API at 127.0.0.1:1 refuses connections") || !strings.Contains(text, "api-refused") {
		t.Errorf("asked %v:\n%s", asked, text)
	}
	answers, _ = ask(func(context.Context, string, string) (*rest.Config, string, error) {
		return nil, "", errors.New("it has no kubeconfig")
	})
	if text := answers.Text(); !strings.Contains(text, "cluster prod/shop: inside the cluster: it has no kubeconfig") {
		t.Errorf("without a kubeconfig:\n%s", text)
	}
}

func lines(all []cause.Finding) string {
	var text []string
	for _, f := range all {
		text = append(text, f.Reason+" "+f.Object.String()+": "+f.Cause)
	}
	return strings.Join(text, "\n")
}
