package moving

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	addons "github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/addons/magnum"
	"github.com/slipway-sh/slipway/addons/magnum/api"
	"github.com/slipway-sh/slipway/addons/magnum/controller"
	"github.com/slipway-sh/slipway/addons/magnum/inventory"
	"github.com/slipway-sh/slipway/addons/magnum/keystone"
	"github.com/slipway-sh/slipway/addons/magnum/moving"
	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
	"github.com/slipway-sh/slipway/addons/magnum/openstack"
	"github.com/slipway-sh/slipway/addons/magnum/policy"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/addons/openstackcluster"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

const patience = 90 * time.Second

// noCloud is a cloud that nobody may ask: what a cluster needs comes with it. Only
// flavors are looked up, when a user resizes.
type noCloud struct{ api.Lookup }

// Flavors finds every flavor.
func (noCloud) Flavors(_ context.Context, _ *keystone.Token, refs ...string) ([]openstack.Flavor, error) {
	return slices.Collect(func(yield func(openstack.Flavor) bool) {
		for _, ref := range refs {
			if !yield(openstack.Flavor{ID: ref, RAM: 8192, VCPUs: 4, Disk: 40}) {
				return
			}
		}
	}), nil
}

// caller is the member who made the clusters.
type caller struct{}

// Validate knows one token.
func (caller) Validate(_ context.Context, id, _ string) (*keystone.Token, error) {
	return &keystone.Token{ID: id, UserID: "9a2b7c1d5e6f47e08f1e2d3c4b5a6978", ProjectID: project, Roles: []string{"member", "reader"}, ExpiresAt: time.Now().Add(time.Hour)}, nil
}

func (caller) Forget(string) {}

// ProjectExists knows all projects but one.
func (caller) ProjectExists(_ context.Context, id string) (bool, error) {
	return !strings.HasPrefix(id, "dead"), nil
}

func (c caller) ProjectExistsFor(ctx context.Context, _, id string) (bool, error) {
	return c.ProjectExists(ctx, id)
}

type noResolver struct{ t *testing.T }

// Resolve is asked by nobody.
func (r noResolver) Resolve(context.Context, *corev1.Secret, controller.Names) (*v1alpha1.ResolvedNames, map[string]v1alpha1.ResolvedImage, error) {
	r.t.Error("the controllers asked the cloud for a cluster that was moved in")
	return nil, nil, errors.New("not asked")
}

// endpoint is Slipway's API with its controllers on the management cluster.
func endpoint(t *testing.T, s *site) string {
	t.Helper()
	scheme := runtime.NewScheme()
	s.must(errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)))
	mgr, err := ctrl.NewManager(s.config, manager.Options{Scheme: scheme, Metrics: metrics.Options{BindAddress: "0"}})
	s.must(err)
	s.must(controller.Setup(mgr, controller.Options{Chart: func() (*chart.Chart, error) { return openstackcluster.Chart() }, Resolver: noResolver{t}}))
	ctx, cancel := context.WithCancel(context.Background())
	stock, err := inventory.New(ctx, mgr.GetCache())
	s.must(err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := mgr.Start(ctx); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	rules, err := policy.New(nil)
	s.must(err)
	server, err := api.New(api.Options{Client: s.client, Inventory: stock, Tokens: caller{}, Cloud: noCloud{}, Policy: rules, AuthURL: "https://k/v3", Log: slog.New(slog.DiscardHandler)})
	s.must(err)
	front := httptest.NewServer(server)
	t.Cleanup(front.Close)
	until(t, "the informers", stock.Synced)
	return front.URL
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited for %s in vain", what)
		}
	}
}

func ask(t *testing.T, method, url string, body any, want int) map[string]any {
	t.Helper()
	var text []byte
	if body != nil {
		text, _ = json.Marshal(body)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Auth-Token", "t")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("OpenStack-API-Version", "container-infra 1.14")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer map[string]any
	err = json.NewDecoder(response.Body).Decode(&answer)
	if response.StatusCode != want {
		t.Fatalf("%s %s: %d %v %v", method, url, response.StatusCode, answer, err)
	}
	return answer
}

// reference is what the real magnum-api answers on the dump's database.
func reference(t *testing.T) map[string]map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "magnum-api.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// compare compares what both answer. Magnum's list of node groups has constant
// bounds, whatever they are.
func compare(t *testing.T, address string, except ...string) {
	t.Helper()
	for path, want := range reference(t) {
		except, diff := slices.Clone(except), "?"
		if strings.HasSuffix(path, "/nodegroups") {
			except = append(except, "min_node_count", "max_node_count")
		}
		for end := time.Now().Add(10 * time.Second); diff != "" && time.Now().Before(end); time.Sleep(50 * time.Millisecond) { // informers follow
			got := ask(t, http.MethodGet, address+path, nil, http.StatusOK)
			diff = cmp.Diff(plain(want, "http://magnum", except), plain(got, address, except))
		}
		if diff != "" {
			t.Errorf("%s: Magnum (-), Slipway (+):\n%s", path, diff)
		}
	}
}

// notMoved are clusters and templates of the dump that are refused.
var notMoved = []string{"half", "swarm"}

// plain takes the host out of links, and leaves out what is not to be compared. A
// group without labels or taints has null here, and in Magnum null or an empty list.
func plain(value any, host string, except []string) any {
	switch value := value.(type) {
	case map[string]any:
		all := map[string]any{}
		for key, member := range value {
			if !slices.Contains(except, key) {
				all[key] = plain(member, host, except)
			}
			if (key == "node_labels" || key == "node_taints") && reflect.ValueOf(member).IsValid() && reflect.ValueOf(member).Len() == 0 {
				all[key] = nil
			}
		}
		return all
	case []any:
		all := []any{}
		for _, member := range value {
			if o, ok := member.(map[string]any); ok {
				if name, _ := o["name"].(string); slices.Contains(notMoved, name) {
					continue
				}
			}
			all = append(all, plain(member, host, except))
		}
		return all
	case string:
		return strings.Replace(value, host, "", 1)
	}
	return value
}

// manage is a management cluster without any cluster.
func manage(t *testing.T) *site {
	t.Helper()
	server := kubetest.Start(t)
	config := server.Config
	config.QPS = -1
	ours, err := magnum.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	more := slices.AppendSeq(slices.Collect(maps.Values(addons.Definitions())), maps.Values(ours))
	server.Define(t, more...)
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return &site{t, config, c}
}

// TestMoveIn: a cluster of magnum-capi-helm is copied, shown as Magnum shows it,
// adopted without a write to anything of Cluster API, resized, and handed back.
func TestMoveIn(t *testing.T) {
	s := manage(t)
	s.build()
	address := endpoint(t, s)
	before := s.versions()

	file := filepath.Join("..", "..", "addons", "magnum", "moving", "database", "testdata", "mariadb-b3e1cf4a2d5e.sql")
	source, err := database.Find(file)
	s.must(err)
	db, err := source.Read(t.Context())
	s.must(err)
	c := s.client
	to := moving.Site{Client: c, Releases: s, Projects: caller{}}
	plan := func() *moving.Plan {
		p, err := moving.New(t.Context(), db, to)
		s.must(err)
		return p
	}
	p := plan()
	if found := p.Find(uuid); len(found) != 1 || found[0].Verdict != moving.Adopt || found[0].Rolls != 0 {
		t.Fatalf("%+v", p.Refused())
	}
	for range 2 {
		p = plan()
		s.must(p.Import(t.Context(), to, func(string, bool) {}))
	}
	cluster := address + "/v1/clusters/" + uuid
	until(t, "the copy", func() bool { return seen(t, c).Status.APIAddress != "" })
	compare(t, address)
	s.held(address, cluster)
	if diff := cmp.Diff(before, s.versions()); diff != "" {
		t.Errorf("the import wrote: %s", diff)
	}

	s.must(p.Adopt(t.Context(), to, func(string, bool) {}))
	until(t, "the controllers", func() bool {
		now := seen(t, c)
		return now.Status.Release != nil && now.Status.Release.Digest != "" && len(now.Status.Conditions) > 0
	})
	time.Sleep(3 * time.Second) // whatever else the controllers would do
	// What Magnum never fills in is filled in now, and health is looked at by Slipway.
	compare(t, address, "node_addresses", "master_addresses", "container_version", "version", "health_status", "health_status_reason")
	if diff := cmp.Diff(before, s.versions()); diff != "" {
		t.Errorf("adopting wrote: %s", diff)
	}
	s.kubeconfig(cluster)
	s.resize(cluster, before)
	s.back(cluster, to, file)
}

func seen(t *testing.T, c client.Client) *v1alpha1.Cluster {
	t.Helper()
	o := &v1alpha1.Cluster{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: stack}, o); err != nil {
		t.Fatal(err)
	}
	return o
}

// held: a copy can be read and not changed, and its certificates are signed.
func (s *site) held(address, cluster string) {
	s.t.Helper()
	ask(s.t, http.MethodPost, cluster+"/actions/resize", map[string]any{"node_count": 4}, http.StatusConflict)
	ask(s.t, http.MethodPatch, cluster, []any{map[string]any{"op": "replace", "path": "/node_count", "value": 4}}, http.StatusConflict)
	ask(s.t, http.MethodPost, cluster+"/nodegroups", map[string]any{"name": "more"}, http.StatusConflict)
	ask(s.t, http.MethodDelete, cluster, nil, http.StatusConflict)
	ask(s.t, http.MethodDelete, address+"/v1/clusters/old-heat", nil, http.StatusConflict)
	s.kubeconfig(cluster)
	s.kubeconfig(address + "/v1/clusters/6c9f3a52-5c0e-4b9f-9a5c-000000000002") // of Heat: authorities out of the database
}

// kubeconfig does what `openstack coe cluster config` does.
func (s *site) kubeconfig(cluster string) {
	s.t.Helper()
	base, id, _ := strings.Cut(cluster, "/v1/clusters/")
	authority := ask(s.t, http.MethodGet, base+"/v1/certificates/"+id, nil, http.StatusOK)["pem"].(string)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	s.must(err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}}}, key)
	s.must(err)
	csr := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	signed := ask(s.t, http.MethodPost, base+"/v1/certificates", map[string]any{"cluster_uuid": id, "csr": string(csr)}, http.StatusCreated)["pem"].(string)
	block, _ := pem.Decode([]byte(signed))
	certificate, err := x509.ParseCertificate(block.Bytes)
	s.must(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(authority))
	if _, err := certificate.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
		s.t.Errorf("kubeconfig of %s: %v", id, err)
	}
}

// resize: Slipway changes a size, and no other object than that group's.
func (s *site) resize(cluster string, before map[string]string) {
	s.t.Helper()
	ask(s.t, http.MethodPost, cluster+"/actions/resize", map[string]any{"node_count": 4}, http.StatusAccepted)
	deployment := "MachineDeployment " + stack + "-default-worker"
	until(s.t, "four workers", func() bool {
		n, _, _ := unstructured.NestedInt64(s.get(capi("MachineDeployment"), stack+"-default-worker").Object, "spec", "replicas")
		return n == 4
	})
	s.settleWorkers("default-worker")
	until(s.t, "UPDATE_COMPLETE", func() bool {
		return ask(s.t, http.MethodGet, cluster, nil, http.StatusOK)["status"] == "UPDATE_COMPLETE"
	})
	after := s.versions()
	if after[deployment] == before[deployment] {
		s.t.Error("nothing was resized")
	}
	delete(after, deployment)
	delete(before, deployment)
	if diff := cmp.Diff(before, after); diff != "" {
		s.t.Errorf("the resize wrote: %s", diff)
	}
}
