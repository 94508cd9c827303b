package horizon

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/config"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/clusters"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/test/devcloud/cloud"
	"github.com/slipway-sh/slipway/test/endpoint"
)

// world is a devcloud with Horizon, in whose catalog Slipway's endpoint is Magnum.
type world struct {
	*testing.T
	cloud *cloud.Cloud
	kube  client.Client

	mu    sync.Mutex
	calls []call // what Horizon asked the endpoint
}

// call is a request of Horizon, and its answer.
type call struct {
	method, path, body string
	status             int
	answer             string
}

func (c call) String() string {
	return fmt.Sprintf("%s %s %s: %d %s", c.method, c.path, c.body, c.status, c.answer)
}

// newWorld starts the endpoint on a real API server and leads Horizon to it. It skips without a
// devcloud.
func newWorld(t *testing.T) *world {
	t.Helper()
	dir := os.Getenv("SLIPWAY_DEVCLOUD_HORIZON")
	if dir == "" {
		t.Skip("SLIPWAY_DEVCLOUD_HORIZON names no devcloud: run make devcloud-horizon")
	}
	c, err := cloud.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, cloud: c}
	server := kubetest.Start(t)
	program, err := filepath.Abs("../../../bin/slipway")
	w.must(err)
	e := endpoint.Start(t, endpoint.Options{Program: program, Kubeconfig: server.Kubeconfig, CloudsYAML: c.CloudsYAML(), Cloud: "devcloud-admin",
		Listen: endpoint.FreeAddress(t), Metrics: "0"})
	scheme := runtime.NewScheme()
	w.must(v1alpha1.AddToScheme(scheme))
	w.must(corev1.AddToScheme(scheme))
	w.kube, err = client.New(server.Config, client.Options{Scheme: scheme})
	w.must(err)
	w.register(w.listen(e.URL))
	w.serves()
	return w
}

// serves waits until the endpoint answers a user: at first, Keystone answers late on a machine
// that is busy.
func (w *world) serves() {
	w.Helper()
	magnum, err := openstack.NewContainerInfraV1(w.provider("devcloud"), gophercloud.EndpointOpts{})
	w.must(err)
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Second) {
		_, err := clusters.List(magnum, nil).AllPages(w.Context())
		if !gophercloud.ResponseCodeIs(err, http.StatusServiceUnavailable) || time.Now().After(end) {
			w.must(err)
			break
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = nil
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// listen serves the endpoint where the cloud reaches it, and notes what is asked and answered.
func (w *world) listen(to string) (address string) {
	w.Helper()
	target, err := url.Parse(to)
	w.must(err)
	target.Path = ""
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			rw.WriteHeader(http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		kept := httptest.NewRecorder()
		proxy.ServeHTTP(kept, r)
		for name, values := range kept.Header() {
			rw.Header()[name] = values
		}
		rw.WriteHeader(kept.Code)
		answer := kept.Body.String()
		io.WriteString(rw, answer) //nolint:errcheck // Horizon tells what it missed
		w.mu.Lock()
		defer w.mu.Unlock()
		w.calls = append(w.calls, call{r.Method, r.URL.RequestURI(), string(body), kept.Code, answer})
	}))
	server.Listener.Close()
	server.Listener, err = net.Listen("tcp", net.JoinHostPort(w.cloud.HostAddress().String(), "0"))
	w.must(err)
	server.Start()
	w.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

// refused are the calls that the endpoint refused.
func (w *world) refused() []call {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.calls), func(c call) bool { return c.status < 400 })
}

// last is the last call with a method.
func (w *world) last(method string) call {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range slices.Backward(w.calls) {
		if c.method == method {
			return c
		}
	}
	w.Fatalf("Horizon sent no %s", method)
	return call{}
}

// register leads the catalog's Magnum to an address, for as long as the test goes on.
func (w *world) register(address string) {
	w.Helper()
	identity, err := openstack.NewIdentityV3(w.provider("devcloud-admin"), gophercloud.EndpointOpts{})
	w.must(err)
	pages, err := services.List(identity, services.ListOpts{ServiceType: "container-infra"}).AllPages(w.Context())
	w.must(err)
	found, err := services.ExtractServices(pages)
	w.must(err)
	if len(found) != 1 {
		w.Fatalf("the catalog has %d services container-infra", len(found))
	}
	pages, err = endpoints.List(identity, endpoints.ListOpts{ServiceID: found[0].ID}).AllPages(w.Context())
	w.must(err)
	all, err := endpoints.ExtractEndpoints(pages)
	w.must(err)
	for _, e := range all {
		w.must(endpoints.Update(w.Context(), identity, e.ID, endpoints.UpdateOpts{URL: address + "/v1"}).Err)
		w.clean(func(ctx context.Context) error {
			return endpoints.Update(ctx, identity, e.ID, endpoints.UpdateOpts{URL: e.URL}).Err
		})
	}
}

// clean does something when the test ends.
func (w *world) clean(do func(context.Context) error) {
	w.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := do(ctx); err != nil {
			w.Errorf("cleaning up: %v", err)
		}
	})
}

// provider logs in by an entry of clouds.yaml.
func (w *world) provider(entry string) *gophercloud.ProviderClient {
	w.Helper()
	auth, _, tls, err := clouds.Parse(clouds.WithCloudName(entry), clouds.WithLocations(w.cloud.CloudsYAML()))
	w.must(err)
	provider, err := config.NewProviderClient(w.Context(), auth, config.WithTLSConfig(tls))
	w.must(err)
	return provider
}

// password is that of all users.
func (w *world) password() string {
	w.Helper()
	auth, _, _, err := clouds.Parse(clouds.WithCloudName("devcloud"), clouds.WithLocations(w.cloud.CloudsYAML()))
	w.must(err)
	return auth.Password
}
