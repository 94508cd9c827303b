package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/inventory"
	"github.com/slipway-sh/slipway/addons/magnum/keystone"
	"github.com/slipway-sh/slipway/addons/magnum/magnumtest"
	"github.com/slipway-sh/slipway/addons/magnum/policy"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// told are informers whose events a test tells itself.
type told struct {
	cache.Informer
	handlers []toolscache.ResourceEventHandler
}

func (f *told) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return f, nil
}

func (f *told) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	f.handlers = append(f.handlers, h)
	return f, nil
}

func (f *told) HasSynced() bool { return true }

// add tells of an object.
func (f *told) add(o client.Object) { f.handlers[0].OnAdd(o, false) }

// anybody is a Keystone that knows every token as one of project p.
type anybody struct{}

func (anybody) Validate(context.Context, string, string) (*keystone.Token, error) {
	return &keystone.Token{ID: "t", UserID: "u", ProjectID: "p", Roles: []string{"member", "reader"}}, nil
}

func (anybody) Forget(string) {}

func (anybody) ProjectExistsFor(context.Context, string, string) (bool, error) { return true, nil }

// stocked is a server with n clusters of project p, complete, that has neither
// a cloud nor an API server.
func stocked(t testing.TB, n int) (*Server, *told) {
	t.Helper()
	events := &told{}
	stock, err := inventory.New(t.Context(), events)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		c, groups := made(i)
		events.add(c)
		for _, g := range groups {
			events.add(g)
		}
	}
	rules, err := policy.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Client: magnumtest.NewKube(t), Inventory: stock, Tokens: anybody{}, Cloud: missing{}, Policy: rules})
	if err != nil {
		t.Fatal(err)
	}
	return s, events
}

// made is a cluster that has been made, and its groups.
func made(i int) (*v1alpha1.Cluster, []*v1alpha1.NodeGroup) {
	zero := false
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "magnum-p", Name: fmt.Sprintf("c-%d", i), UID: types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i)),
		Generation: 1, ResourceVersion: fmt.Sprint(i), CreationTimestamp: metav1.NewTime(time.Unix(int64(1700000000+i), 0))}}
	c.Spec = v1alpha1.ClusterSpec{Identity: v1alpha1.Identity{ProjectID: "p", UserID: "u"}, TemplateRef: v1alpha1.TemplateRef{Name: "t"}, Keypair: "ops", FlavorID: "m1.large",
		MasterFlavorID: "m1.medium", Labels: map[string]string{"auto_healing_enabled": "true", "boot_volume_size": "20"}, FloatingIPEnabled: &zero, MasterLBEnabled: &zero,
		Template: &v1alpha1.TemplateSnapshot{UUID: "0b7a9e0c-0d3c-4a51-8a41-0f6f2a9a1c55", TemplateValues: v1alpha1.TemplateValues{ImageID: "ubuntu"}}}
	c.Status = v1alpha1.ClusterStatus{Phase: v1alpha1.CreateComplete, ObservedGeneration: 1, APIAddress: "https://203.0.113.20:6443", HealthStatus: v1alpha1.Healthy,
		COEVersion: "v1.34.2", HealthStatusReason: map[string]string{"api": "ok"}}
	groups := v1alpha1.DefaultGroups(c)
	for _, g := range groups {
		g.Generation, g.UID = 1, types.UID(g.Name)
		g.Status = v1alpha1.NodeGroupStatus{Phase: v1alpha1.CreateComplete, ObservedGeneration: 1, NodeAddresses: []string{"10.0.0.5"}}
	}
	return c, groups
}

func listed(s *Server, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("X-Auth-Token", "t")
	r.Header.Set("OpenStack-API-Version", "container-infra latest")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestListOfThousand(t *testing.T) {
	t.Parallel()
	s, events := stocked(t, 1000)
	var body struct {
		Clusters []map[string]any
		Next     string
	}
	read := func(path string) {
		t.Helper()
		body.Clusters, body.Next = nil, ""
		w := listed(s, path)
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code != 200 {
			t.Fatalf("%d %v: %s", w.Code, err, w.Body.String())
		}
	}
	read("/v1/clusters")
	if len(body.Clusters) != 1000 || body.Clusters[0]["name"] != "c-0" || body.Clusters[999]["name"] != "c-999" || !strings.Contains(body.Next, "limit=1000") {
		t.Errorf("%d clusters, next %q", len(body.Clusters), body.Next)
	}
	read(body.Next[strings.Index(body.Next, "/v1/"):])
	if len(body.Clusters) != 0 || body.Next != "" {
		t.Errorf("after the last: %d clusters", len(body.Clusters))
	}
	read("/v1/clusters/detail?limit=2&sort_key=created_at&sort_dir=desc")
	if body.Clusters[0]["name"] != "c-999" || body.Clusters[1]["name"] != "c-998" {
		t.Errorf("%v", body.Clusters)
	}
	// What was copied before is made anew when the cluster or a group changes.
	c, groups := made(7)
	groups[1].Spec.NodeCount, groups[1].Generation = 5, 2
	events.add(groups[1])
	read("/v1/clusters?limit=10")
	if got := body.Clusters[7]; got["node_count"] != 5.0 || got["status"] != "UPDATE_IN_PROGRESS" {
		t.Errorf("after a resize: %v", got)
	}
	c.Status.HealthStatus = v1alpha1.Unhealthy
	events.add(c)
	read("/v1/clusters?limit=10")
	if got := body.Clusters[7]; got["health_status"] != "UNHEALTHY" {
		t.Errorf("after a change of health: %v", got)
	}
	// Objects in another project's namespace are not served.
	stranger, _ := made(2000)
	stranger.Namespace = "magnum-q"
	events.add(stranger)
	if w := listed(s, "/v1/clusters/"+string(stranger.UID)); w.Code != 404 {
		t.Errorf("a stranger: %d", w.Code)
	}
}

func benchmarkGet(b *testing.B, n int, path string) {
	s, _ := stocked(b, n)
	listed(s, path)
	b.ReportAllocs()
	for b.Loop() {
		if w := listed(s, path); w.Code != 200 {
			b.Fatal(w.Body.String())
		}
	}
}

func BenchmarkListThousand(b *testing.B) { benchmarkGet(b, 1000, "/v1/clusters") }
func BenchmarkListNone(b *testing.B)     { benchmarkGet(b, 0, "/v1/clusters") }
func BenchmarkGetOne(b *testing.B)       { benchmarkGet(b, 1000, "/v1/clusters/c-500") }
