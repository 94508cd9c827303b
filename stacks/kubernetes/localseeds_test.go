package kubernetes

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/localseed"
)

// api is a Kubernetes API that has the Cluster default/demo, or has not.
func api(t *testing.T, has bool) (kubeconfig string) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/readyz":
		case has && strings.HasSuffix(r.URL.Path, "/namespaces/default/clusters/demo"):
			fmt.Fprint(w, `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","metadata":{"name":"demo","namespace":"default"}}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"NotFound","code":404}`)
		}
	}))
	t.Cleanup(server.Close)
	return kubeconfigOf(server)
}

func kubeconfigOf(server *httptest.Server) string {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\n"+
		"clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}]\n", server.URL, base64.StdEncoding.EncodeToString(authority))
}

// gone is the kubeconfig of an API that does not answer.
func gone(t *testing.T) string {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	text := kubeconfigOf(server)
	server.Close()
	return text
}

// runtime is a provider of at most one cluster.
type runtime struct {
	kubeconfig string
	there      *localseed.Cluster
	did        []string
}

func (r *runtime) Find(context.Context, string) (*localseed.Cluster, error) { return r.there, nil }

func (r *runtime) Create(_ context.Context, wanted localseed.Wanted, _ func(string)) error {
	r.there = &localseed.Cluster{Owner: wanted.Owner}
	r.did = append(r.did, "create")
	return nil
}

func (r *runtime) Finish(context.Context, string) error { r.there.Finished = true; return nil }

func (r *runtime) Kubeconfig(context.Context, string) (string, error) { return r.kubeconfig, nil }

func (r *runtime) HasImage(context.Context, string) (bool, error) { return true, nil }

func (r *runtime) LoadImage(context.Context, io.Reader) error { return errors.New("not needed") }

func (r *runtime) Import(_ context.Context, _ string, archive io.Reader) error {
	r.did = append(r.did, "import")
	_, err := io.Copy(io.Discard, archive)
	return err
}

func (r *runtime) Delete(context.Context, string) error {
	r.there = nil
	r.did = append(r.did, "delete")
	return nil
}

// seeds are local seeds on a runtime that has one already, or not.
func seeds(t *testing.T, there bool) (*LocalSeeds, *runtime, string) {
	t.Helper()
	folder, err := bundle.Create(t.TempDir(), "linux/amd64")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folder.Close() })
	r := &runtime{kubeconfig: api(t, true)}
	if there {
		r.there = &localseed.Cluster{Owner: "demo@1", Finished: true}
	}
	s := &LocalSeeds{Provider: func(context.Context) (localseed.Provider, error) { return r, nil }, Dir: t.TempDir(), Bundle: folder,
		install: func(_ context.Context, kubeconfig string, settings LocalSettings, _ func(string)) error {
			if kubeconfig != r.kubeconfig || settings.ControllersImage != "own" {
				t.Errorf("installed %+v", settings)
			}
			r.did = append(r.did, "install")
			return nil
		}}
	text, err := json.Marshal(LocalSettings{Settings: localseed.Settings{Name: "slipway-demo", Owner: "demo@1", Image: "node"}, ControllersImage: "own"})
	if err != nil {
		t.Fatal(err)
	}
	return s, r, string(text)
}

// A seed is equipped once in a run, and again in the next, which may be another's after a
// crash.
func TestALocalSeedIsEquipped(t *testing.T) {
	t.Parallel()
	s, r, settings := seeds(t, false)
	for range 2 {
		if kubeconfig, err := s.Bring(t.Context(), settings, func(string) {}); err != nil || kubeconfig != r.kubeconfig {
			t.Fatal(err)
		}
	}
	s.equipped = nil // another run
	if _, err := s.Bring(t.Context(), settings, func(string) {}); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	if did := strings.Join(r.did, " "); did != "create import install import install delete" {
		t.Errorf("did %q", did)
	}
}

// Whether a local seed is brought depends on where the objects of the cluster are. Above all
// no second cluster is made, and no seed is brought for nothing.
func TestWhenALocalSeedIsBrought(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		there bool
		// before is the kubeconfig of the cluster in the state.
		before func(*testing.T) string
		// cluster, move and back are what each of the three gets: "seed", "" or an error.
		cluster, move, back string
	}{
		"nothing yet":                 {false, func(*testing.T) string { return "" }, "seed", "seed", ""},
		"a seed at work":              {true, func(t *testing.T) string { return api(t, false) }, "seed", "seed", "seed"},
		"self-managed":                {false, func(t *testing.T) string { return api(t, true) }, "", "", "seed"},
		"nobody has the objects":      {false, func(t *testing.T) string { return api(t, false) }, "error: neither on the cluster itself", "seed", ""},
		"the cluster does not answer": {false, gone, "error: does not answer", "error: asking the management cluster", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, r, settings := seeds(t, test.there)
			before := test.before(t)
			in := ManagementMoveInputs{Login: Login{Local: settings}, ManagementKubeconfig: before, Name: "demo", Namespace: "default"}
			check := func(what, want string, kubeconfig string, err error) {
				t.Helper()
				cause, fails := strings.CutPrefix(want, "error: ")
				switch {
				case fails != (err != nil), fails && !strings.Contains(err.Error(), cause):
					t.Errorf("%s: error %v, want %q", what, err, want)
				case !fails && (want == "seed") != (kubeconfig == r.kubeconfig):
					t.Errorf("%s: got %.20q, want %q", what, kubeconfig, want)
				}
			}
			kubeconfig, err := s.ForMoveBack(t.Context(), Direct{}, in, func(string) {})
			check("back", test.back, kubeconfig, err)
			r.there = nil
			if test.there {
				r.there = &localseed.Cluster{Owner: "demo@1", Finished: true}
			}
			kubeconfig, err = s.forCluster(t.Context(), Direct{}, ClusterInputs{Login: in.Login, Name: "demo", Namespace: "default"}, ClusterState{AdminKubeconfig: before})
			check("cluster", test.cluster, kubeconfig, err)
			r.there = nil
			if test.there {
				r.there = &localseed.Cluster{Owner: "demo@1", Finished: true}
			}
			kubeconfig, err = s.forMove(t.Context(), Direct{}, in)
			check("move", test.move, kubeconfig, err)
		})
	}
}

// A cluster without a local seed is deleted if it is gone anyway, and not by itself.
func TestAClusterWithoutALocalSeed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kubeconfig func(*testing.T) string
		want       string
	}{
		"self-managed": {func(t *testing.T) string { return api(t, true) }, "cannot delete itself"},
		"gone":         {gone, ""},
		"never made":   {func(*testing.T) string { return "" }, ""},
	} {
		s, _, settings := seeds(t, false)
		state := ClusterState{ClusterInputs: ClusterInputs{Login: Login{Local: settings}, Name: "demo", Namespace: "default"}, AdminKubeconfig: test.kubeconfig(t)}
		err := clusterKind{seeds: s}.remove(t.Context(), state)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
