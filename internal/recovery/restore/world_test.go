package restore

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	addons "github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/addons/magnum"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/recovery/recoverytest"
)

// wire counts the requests that write, and lets a test come between.
type wire struct {
	mu     sync.Mutex
	n      int
	before func(n int, r *http.Request) *http.Response
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (w *wire) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet {
			return next.RoundTrip(r)
		}
		w.mu.Lock()
		w.n++
		n := w.n
		w.mu.Unlock()
		if w.before != nil {
			if response := w.before(n, r); response != nil {
				return response, nil
			}
		}
		return next.RoundTrip(r)
	})
}

func (w *wire) writes() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n
}

// answer is one of a server.
func answer(r *http.Request, code int, body string) *http.Response {
	return &http.Response{StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}
}

// start is an API server with all definitions, as up leaves it.
func start(t *testing.T) *rest.Config {
	t.Helper()
	server := kubetest.Start(t)
	definitions, err := magnum.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(definitions, addons.Definitions())
	var more [][]byte
	for _, text := range definitions {
		more = append(more, text)
	}
	server.Define(t, more...)
	return server.Config
}

func cluster(t *testing.T, config *rest.Config, w *wire) *kube.Cluster {
	t.Helper()
	config = rest.CopyConfig(config)
	if w != nil {
		config.Wrap(w.wrap)
	}
	c, err := kube.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// plan is that of a graph.
func plan(t *testing.T, g *recoverytest.Graph) *recovery.Plan {
	t.Helper()
	p, err := recovery.NewPlan(g.Snapshot, recovery.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// evidence is what the proofs judge on a cluster, with the cloud of the graph.
func evidence(t *testing.T, on *kube.Cluster, g *recoverytest.Graph, p *recovery.Plan) recovery.Evidence {
	t.Helper()
	live, err := Live(t.Context(), on, p)
	if err != nil {
		t.Fatal(err)
	}
	projects := map[string]string{}
	for _, name := range p.Clusters() {
		projects[name] = recoverytest.Project
	}
	return recovery.Evidence{Snapshot: g.Snapshot, Plan: p, Live: live, Controllers: g.Snapshot.Controllers, Now: recoverytest.Taken().Add(time.Hour),
		Cloud: recovery.Cloud{Inventory: g.Snapshot.Cloud, Networks: g.Networks, Routers: g.Routers, SecurityGroups: g.SecurityGroups, Projects: projects}}
}

// proved fails the test unless all proofs pass.
func proved(t *testing.T, e recovery.Evidence) {
	t.Helper()
	for _, c := range recovery.Prove(e) {
		if c.State != recovery.Passed || c.Checked == 0 {
			t.Errorf("%s is %s, %d checked: %v", c.ID, c.State, c.Checked, c.Findings)
		}
	}
}

// versions are the resource versions of all objects of a plan.
func versions(t *testing.T, on *kube.Cluster, p *recovery.Plan) map[string]string {
	t.Helper()
	live, err := Live(t.Context(), on, p)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, o := range live {
		if o.GetNamespace() == "kube-system" || o.GetNamespace() == "default" {
			continue // Kubernetes writes there itself
		}
		all[o.GetAPIVersion()+" "+recovery.Describe(o)] = string(o.GetUID()) + " " + o.GetResourceVersion()
	}
	return all
}

// wipe deletes the namespaces of a graph with all that is in them.
func wipe(t *testing.T, on *kube.Cluster, p *recovery.Plan, namespaces ...string) {
	t.Helper()
	for _, step := range p.Steps {
		for _, o := range step {
			if o.GetNamespace() == "" {
				continue
			}
			client, err := on.Resource(o)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = client.Patch(t.Context(), o.GetName(), "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		}
	}
	for _, name := range namespaces {
		if err := on.Typed.CoreV1().Namespaces().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil && !kube.Absent(err) {
			t.Fatal(err)
		}
	}
	for _, name := range namespaces {
		for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
			if _, err := on.Typed.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{}); kube.Absent(err) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("namespace %s does not go", name)
			}
		}
	}
}

// snapshotOf reads a cluster as a backup does, with status, UIDs and owners.
func snapshotOf(t *testing.T, on *kube.Cluster, g *recoverytest.Graph, p *recovery.Plan) *recoverytest.Graph {
	t.Helper()
	live, err := Live(t.Context(), on, p)
	if err != nil {
		t.Fatal(err)
	}
	next := *g
	s := *g.Snapshot
	s.Objects = nil
	for _, o := range live {
		if o.GetNamespace() != "kube-system" && o.GetNamespace() != "default" && o.GetName() != "kube-root-ca.crt" {
			s.Objects = append(s.Objects, o)
		}
	}
	next.Snapshot = &s
	return &next
}

// statuses are those of a plan's objects, as text by object, without generations and
// UIDs, which are of one cluster; TestStatuses of package recovery has what becomes of
// generations.
func statuses(objects []*unstructured.Unstructured) map[string]string {
	all := map[string]string{}
	for _, o := range objects {
		if status, ok := o.Object["status"].(map[string]any); ok && strings.Contains(o.GetAPIVersion(), ".") {
			all[o.GetAPIVersion()+" "+recovery.Describe(o)] = fmt.Sprint(withoutGenerations(status))
		}
	}
	return all
}

// withoutGenerations is a copy of a value without the generations that were observed.
func withoutGenerations(value any) any {
	switch v := value.(type) {
	case []any:
		all := make([]any, len(v))
		for i, one := range v {
			all[i] = withoutGenerations(one)
		}
		return all
	case map[string]any:
		all := map[string]any{}
		for key, one := range v {
			if key != "observedGeneration" {
				all[key] = withoutGenerations(one)
			}
		}
		return all
	}
	return value
}
