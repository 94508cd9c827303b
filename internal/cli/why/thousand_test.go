package why

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/cause/look"
	"github.com/slipway-sh/slipway/internal/cli/witness"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/internal/support"
)

// many are the clusters of one project: half of them are not well. copies are the namespaces
// besides the first that have two of them, with a credential of their own.
const (
	many   = 1000
	copies = many/2 - 1
)

// TestAThousandClustersAreExplainedInTime: all within 30 s and one within 10 s, from the
// objects to the text; each service but Keystone lists its things once for all of them.
func TestAThousandClustersAreExplainedInTime(t *testing.T) {
	t.Parallel()
	if os.Getenv("SLIPWAY_PROOFS") == "" {
		t.Skip("set SLIPWAY_PROOFS=1")
	}
	box := sandboxtest.Start(t)
	plant(t, box)
	on := cluster(t, box)
	multiply(t, on)
	on.Way = func(context.Context, string, string) (*rest.Config, string, error) {
		return &rest.Config{Host: "https://127.0.0.1:1"}, "the seed", nil
	}
	lists := map[string]string{}
	for path, service := range map[string]string{"/v2.1/servers/detail": "compute", "/v2.0/ports": "network", "/v2.0/routers": "network", "/v2/lbaas/loadbalancers": "load-balancer", "/v2/images": "image"} {
		r, err := box.Faults.Add(faultinject.Rule{Kind: faultinject.API, Service: service, Method: "GET", Path: path, Delay: faultinject.Duration(time.Microsecond)})
		if err != nil {
			t.Fatal(err)
		}
		lists[r.ID] = service + path
	}
	ask := func(cache *look.Cache, name, namespace string, limit time.Duration) support.Answers {
		began := time.Now()
		all, err := clusterapi.ReadAll(t.Context(), on.Client, metav1.NamespaceAll)
		if err != nil {
			t.Fatal(err)
		}
		scenes := witness.Scenes(t.Context(), on, all, cache, name, namespace, time.Now())
		answers := support.Snapshots{Environment: "prod", Scenes: scenes}.Explain(name, namespace)
		_ = answers.Text()
		t.Logf("%q: %d answers after %s", name, len(answers.Answers), time.Since(began))
		if took := time.Since(began); took > limit {
			t.Errorf("%q: it took %s", name, took)
		}
		return answers
	}
	cache := look.NewCache(time.Now)
	if a := ask(cache, "", "", 30*time.Second); len(a.Answers) != many {
		t.Errorf("%d answers", len(a.Answers))
	}
	for _, r := range box.Faults.List() {
		if path := lists[r.ID]; path != "" && r.Calls > 2 { // two if a list has a second page
			t.Errorf("%s was listed %d times", path, r.Calls)
		}
	}
	if a := ask(look.NewCache(time.Now), "shop", "tenant-7", 10*time.Second); len(a.Answers) != 1 {
		t.Errorf("%d answers about one cluster", len(a.Answers))
	}
}

// multiply copies both clusters with all their objects into other namespaces.
func multiply(t *testing.T, on witness.Place) {
	t.Helper()
	for _, kind := range []schema.GroupVersionResource{
		{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "clusters"}, {Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "machines"},
		{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Resource: "openstackclusters"}, {Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Resource: "openstackmachines"},
		{Version: "v1", Resource: "secrets"},
	} {
		list, err := on.Client.Resource(kind).Namespace("prod").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range copies {
			for _, item := range list.Items {
				o := item.DeepCopy()
				o.SetNamespace(fmt.Sprintf("tenant-%d", i))
				if _, err := on.Client.Resource(kind).Namespace(o.GetNamespace()).Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
