package router

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/api"
	"github.com/slipway-sh/slipway/addons/magnum/inventory"
	"github.com/slipway-sh/slipway/addons/magnum/keystone"
	"github.com/slipway-sh/slipway/addons/magnum/magnumtest"
	"github.com/slipway-sh/slipway/addons/magnum/openstack"
	"github.com/slipway-sh/slipway/addons/magnum/policy"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// tokens is a Keystone whose tokens say whose they are: project/role.
type tokens struct {
	forgotten, revoked atomic.Bool
}

func (k *tokens) Validate(_ context.Context, token, _ string) (*keystone.Token, error) {
	project, role, ok := strings.Cut(token, "/")
	if !ok || k.revoked.Load() {
		return nil, keystone.ErrInvalid
	}
	t := &keystone.Token{ID: token, UserID: "user-of-" + project, ProjectID: project, Roles: []string{role, "reader"}}
	if role == "admin" {
		t.Roles = append(t.Roles, "member")
	}
	return t, nil
}

func (k *tokens) Forget(string) { k.forgotten.Store(true) }

func (*tokens) ProjectExistsFor(context.Context, string, string) (bool, error) { return true, nil }

// cloud knows everything that a template names.
type cloud struct{ api.Lookup }

func (cloud) Image(context.Context, *keystone.Token, string) (openstack.Image, error) {
	return openstack.Image{ID: "i", OSDistro: "ubuntu", KubeVersion: "v1.34.2"}, nil
}

func (cloud) Flavors(_ context.Context, _ *keystone.Token, refs ...string) ([]openstack.Flavor, error) {
	return slices.Repeat([]openstack.Flavor{{ID: "f", RAM: 8192, VCPUs: 4, Disk: 40}}, len(refs)), nil
}

func (cloud) Network(_ context.Context, _ *keystone.Token, ref string, _ bool) (string, error) {
	return ref, nil
}

// site is a management cluster: its API server is in memory.
type site struct {
	kube    client.WithWatch
	handler http.Handler
	front   *httptest.Server
	tokens  *tokens
	// last is the last request that came.
	last atomic.Pointer[http.Request]
}

// fleet is a router before management clusters.
type fleet struct {
	t       *testing.T
	home    client.WithWatch
	sites   map[string]*site
	members []Member
	tokens  *tokens
	front   *httptest.Server
}

func newFleet(t *testing.T, names ...string) *fleet {
	t.Helper()
	f := &fleet{t: t, home: magnumtest.NewKube(t), sites: map[string]*site{}, tokens: &tokens{}}
	for _, name := range names {
		at := newSite(t)
		address, err := url.Parse(at.front.URL)
		f.must(err)
		f.sites[name], f.members = at, append(f.members, Member{Name: name, URL: address})
	}
	f.front = f.router(nil)
	return f
}

func newSite(t *testing.T) *site {
	t.Helper()
	at := &site{kube: magnumtest.NewKube(t), tokens: &tokens{}}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	stock, err := inventory.New(ctx, &magnumtest.Followed{WithWatch: at.kube, T: t})
	if err != nil {
		t.Fatal(err)
	}
	rules, err := policy.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	server, err := api.New(api.Options{Client: at.kube, Inventory: stock, Tokens: at.tokens, Cloud: cloud{}, Policy: rules, TrustForwarded: true})
	if err != nil {
		t.Fatal(err)
	}
	at.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at.last.Store(r)
		server.ServeHTTP(w, r)
	})
	at.front = httptest.NewServer(at.handler)
	t.Cleanup(at.front.Close)
	for end := time.Now().Add(10 * time.Second); !stock.Synced(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the inventory does not come")
		}
	}
	return at
}

// router is one more router of the fleet.
func (f *fleet) router(change func(*Options)) *httptest.Server {
	f.t.Helper()
	return f.serve(f.server(change))
}

// server is a router that nothing listens for yet.
func (f *fleet) server(change func(*Options)) *Server {
	f.t.Helper()
	rules, err := policy.New(nil)
	f.must(err)
	o := Options{Members: f.members, Client: f.home, Placements: f.home, Synced: func() bool { return true }, Tokens: f.tokens, Policy: rules, AuthURL: "https://keystone.example"}
	if change != nil {
		change(&o)
	}
	server, err := New(o)
	f.must(err)
	return server
}

func (f *fleet) serve(server *Server) *httptest.Server {
	front := httptest.NewServer(server)
	f.t.Cleanup(front.Close)
	return front
}

func (f *fleet) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// answered is a response that was read.
type answered struct {
	t      *testing.T
	what   string
	status int
	header http.Header
	text   string
	body   map[string]any
}

// ask sends a request with a token; body is sent as JSON unless it is a string.
func (f *fleet) ask(token, method, path string, body any) *answered {
	f.t.Helper()
	return f.at(f.front, token, method, path, body)
}

func (f *fleet) at(front *httptest.Server, token, method, path string, body any) *answered {
	f.t.Helper()
	text, raw := body.(string)
	if body != nil && !raw {
		encoded, err := json.Marshal(body)
		f.must(err)
		text = string(encoded)
	}
	address := path
	if !strings.HasPrefix(path, "http") {
		address = front.URL + path
	}
	r, err := http.NewRequestWithContext(f.t.Context(), method, address, bytes.NewBufferString(text))
	f.must(err)
	r.Header.Set("X-Auth-Token", token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("OpenStack-API-Version", "container-infra latest")
	response, err := http.DefaultClient.Do(r)
	f.must(err)
	defer response.Body.Close() //nolint:errcheck // it was read
	got, err := io.ReadAll(response.Body)
	f.must(err)
	a := &answered{t: f.t, what: method + " " + path, status: response.StatusCode, header: response.Header, text: string(got)}
	_ = json.Unmarshal(got, &a.body)
	return a
}

// want ends the test unless the answer has the status and says all words.
func (a *answered) want(status int, words ...string) *answered {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("%s: %d, want %d: %s", a.what, a.status, status, a.text)
	}
	for _, word := range words {
		if !strings.Contains(a.text, word) {
			a.t.Errorf("%s: no %q in %s", a.what, word, a.text)
		}
	}
	return a
}

// names are those of the items of a list.
func (a *answered) names(list string) []string {
	a.t.Helper()
	var names []string
	items, ok := a.body[list].([]any)
	if !ok {
		a.t.Fatalf("%s has no list of %s: %s", a.what, list, a.text)
	}
	for _, i := range items {
		name, _ := i.(map[string]any)["name"].(string)
		names = append(names, name)
	}
	return names
}

// cluster makes a cluster at a site, as if it had been there before.
func (f *fleet) cluster(at, project, name string) *v1alpha1.Cluster {
	f.t.Helper()
	c := &v1alpha1.Cluster{ObjectMeta: f.meta(at, project, name)}
	c.Spec.ProjectID, c.Spec.Name = project, name
	f.must(f.sites[at].kube.Create(f.t.Context(), c))
	f.seen(at, "clusters/"+string(c.UID))
	return c
}

// template makes a cluster template at a site.
func (f *fleet) template(at, project, name string, public bool) *v1alpha1.ClusterTemplate {
	f.t.Helper()
	t := &v1alpha1.ClusterTemplate{ObjectMeta: f.meta(at, project, name)}
	t.Spec.ProjectID, t.Spec.Name, t.Spec.Public, t.Spec.NetworkDriver = project, name, public, "calico"
	f.must(f.sites[at].kube.Create(f.t.Context(), t))
	f.seen(at, "clustertemplates/"+string(t.UID))
	return t
}

// meta is that of an object that the API made now; lists are in the order of that time.
func (f *fleet) meta(at, project, name string) metav1.ObjectMeta {
	f.t.Helper()
	namespace := v1alpha1.Namespace(project)
	f.must(client.IgnoreAlreadyExists(f.sites[at].kube.Create(f.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})))
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{v1alpha1.AnnotationCreatedAt: time.Now().UTC().Format(time.RFC3339Nano)}}
}

// seen waits until a site shows an object to an administrator.
func (f *fleet) seen(at, path string) {
	f.t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if f.at(f.sites[at].front, "ops/admin", http.MethodGet, "/v1/"+path, nil).status == http.StatusOK {
			return
		}
		if time.Now().After(end) {
			f.t.Fatalf("%s does not come", path)
		}
	}
}

// placed is where a project is, "" if nowhere.
func (f *fleet) placed(project string) string {
	f.t.Helper()
	p := &v1alpha1.Placement{}
	err := f.home.Get(f.t.Context(), client.ObjectKey{Name: v1alpha1.Namespace(project)}, p)
	f.must(client.IgnoreNotFound(err))
	if err == nil && p.Spec.ProjectID != project {
		f.t.Errorf("the placement of %s is of %s", project, p.Spec.ProjectID)
	}
	return p.Spec.ManagementCluster
}

// newTemplate is what a tenant sends.
func newTemplate(name string) map[string]any {
	return map[string]any{"name": name, "coe": "kubernetes", "image_id": "ubuntu", "flavor_id": "m", "master_flavor_id": "m", "external_network_id": "public"}
}

func numbered(name string, n int) string { return fmt.Sprintf("%s-%d", name, n) }
