package serve

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

func TestRouterWrongFlags(t *testing.T) {
	t.Parallel()
	nonsense := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(nonsense, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	const east = "--member=east=https://east:9511/v1"
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no member":             {nil, "--member: it is missing"},
		"half of a certificate": {[]string{east, "--tls-cert", "x"}, "--tls-key"},
		"an endpoint":           {[]string{east, "--public-endpoint", "cloud.example"}, "--public-endpoint"},
		"CA certificates":       {[]string{east, "--member-ca", nonsense}, "--member-ca: it has no certificate"},
		"no CA certificates":    {[]string{east, "--cloud-ca", "/nonexistent"}, "--cloud-ca"},
		"a policy file":         {[]string{east, "--policy-file", "/nonexistent"}, "--policy-file"},
		"a kubeconfig":          {[]string{east, "--kubeconfig", "/nonexistent"}, "--kubeconfig"},
		"all at once": {[]string{east, "--member", "east=https://x", "--member", "west", "--member", "north=ftp://x", "--closed", "south", "--max-limit", "0", "--request-timeout", "0s"},
			"--member east=https://x: east is given twice\n--member west: it is not a name and a URL\n--member north=ftp://x: it is not a name and a URL\n" +
				"--closed south: no management cluster has that name\n--max-limit: 0 is less than 1\n--request-timeout: 0s is less than 1ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := run(t, append([]string{"magnum-router"}, test.args...)...)
			if fault.ExitCode(err) != fault.ExitUsage || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, exit code %d; want %q", err, fault.ExitCode(err), test.want)
			}
			if fault.Remedy(err) == "" {
				t.Error("it does not say what to do")
			}
		})
	}
}

// relay leads to an address until it is cut.
func relay(t *testing.T, address string) (string, func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cut := context.WithCancel(t.Context())
	var open sync.WaitGroup
	t.Cleanup(func() { cut(); open.Wait() })
	context.AfterFunc(ctx, func() { listener.Close() }) //nolint:errcheck // it ends either way
	open.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", address)
			if err != nil {
				from.Close() //nolint:errcheck // nothing came over it
				continue
			}
			stop := context.AfterFunc(ctx, func() { from.Close(); to.Close() }) //nolint:errcheck // they end either way
			open.Go(func() {
				var both sync.WaitGroup
				both.Go(func() { io.Copy(to, from); to.Close() })   //nolint:errcheck // the other side sees it
				both.Go(func() { io.Copy(from, to); from.Close() }) //nolint:errcheck // the other side sees it
				both.Wait()
				stop()
			})
		}
	})
	return listener.Addr().String(), cut
}

// managementCluster is one of those behind the router.
type managementCluster struct {
	*replica
	kube client.Client
}

// clusters are those in its resources.
func (m managementCluster) clusters(t *testing.T) (names []string) {
	t.Helper()
	list := &v1alpha1.ClusterList{}
	if err := m.kube.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		names = append(names, list.Items[i].Title())
	}
	slices.Sort(names)
	return names
}

// startManagementCluster starts an API on an API server of its own.
func startManagementCluster(t *testing.T, server *kubetest.Server, kubeconfig string) managementCluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	kube, err := client.New(server.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	m := managementCluster{startReplica(t, kubeconfig, "", "--install-crds"), kube}
	m.ready()
	return m
}

// twoManagementClusters are two API servers with an API each, and files of their kubeconfigs. That of
// home leads to east until it is cut.
func twoManagementClusters(t *testing.T, sandbox *sandboxtest.Cloud) (at map[string]managementCluster, eastConfig, home string, cut func()) {
	t.Helper()
	east, west := kubetest.Start(t), kubetest.Start(t)
	eastConfig = files(t, east, sandbox)
	westConfig, home := filepath.Join(t.TempDir(), "kubeconfig"), filepath.Join(t.TempDir(), "kubeconfig")
	direct := strings.TrimPrefix(east.Config.Host, "https://")
	address, cut := relay(t, direct)
	for file, text := range map[string]string{westConfig: string(west.Kubeconfig), home: strings.Replace(string(east.Kubeconfig), direct, address, 1)} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	public := images.ImageVisibilityPublic
	if _, err := images.Create(t.Context(), sandbox.Admin.Image(t), images.CreateOpts{Name: "k134", Visibility: &public, DiskFormat: "raw", ContainerFormat: "bare",
		Properties: map[string]string{"os_distro": "ubuntu", "kube_version": "v1.34.2"}}).Extract(); err != nil {
		t.Fatal(err)
	}
	return map[string]managementCluster{"east": startManagementCluster(t, east, eastConfig), "west": startManagementCluster(t, west, westConfig)}, eastConfig, home, cut
}

// newCluster makes a template and a cluster of it, and returns its UUID.
func (r *replica) newCluster(token, name string) string {
	r.t.Helper()
	r.token = token
	r.do(http.MethodPost, "/v1/clustertemplates", map[string]any{"name": "t", "coe": "kubernetes", "image_id": "k134", "external_network_id": "public",
		"flavor_id": "m1.large", "master_flavor_id": "m1.large"}, 201)
	return r.do(http.MethodPost, "/v1/clusters", map[string]any{"name": name, "cluster_template_id": "t", "node_count": 1}, 202)["uuid"].(string)
}

// TestTwoManagementClustersBehindOneAPI: two API servers with an API each, a router before them, and
// an API of one of them that serves the other too. Projects are on one of the two, whoever is
// asked, also while the router reaches no placements; an administrator sees and reaches all; if
// one management cluster is away, its projects are told so and others do not notice.
func TestTwoManagementClustersBehindOneAPI(t *testing.T) {
	sandbox := sandboxtest.Start(t)
	at, eastConfig, home, cut := twoManagementClusters(t, sandbox)
	demo, admin := sandbox.Member.Provider.Token(), sandbox.Admin.Provider.Token()
	west := "west=http://" + at["west"].address + "/v1"
	router := startServer(t, "magnum-router", home, demo, "--member", "east=http://"+at["east"].address, "--member", west)
	router.ready()
	shop, tools := router.newCluster(demo, "shop"), router.newCluster(admin, "tools")
	if e, w := at["east"].clusters(t), at["west"].clusters(t); !slices.Equal(e, []string{"shop"}) || !slices.Equal(w, []string{"tools"}) {
		t.Fatalf("east has %v, west has %v", e, w)
	}
	placements := &v1alpha1.PlacementList{}
	if err := at["east"].kube.List(t.Context(), placements); err != nil || len(placements.Items) != 2 {
		t.Fatalf("placements: %v, %v", placements.Items, err)
	}

	front := startReplica(t, eastConfig, demo, "--member-name", "east", "--member", west)
	front.ready()
	template := front.do(http.MethodGet, "/v1/clusters/"+shop, nil, 200)["cluster_template_id"].(string)
	front.do(http.MethodGet, "/v1/clusters/"+tools, nil, 404)
	front.token = admin // who is on west
	front.do(http.MethodGet, "/v1/clusters/"+tools, nil, 200)
	front.do(http.MethodPatch, "/v1/clustertemplates/"+template, patch("replace /name theirs"), 200)
	if list := front.do(http.MethodGet, "/v1/clusters", nil, 200)["clusters"].([]any); len(list) != 2 {
		t.Errorf("an administrator sees %v", list)
	}
	if stats := front.do(http.MethodGet, "/v1/stats", nil, 200); stats["clusters"] != 2.0 {
		t.Errorf("the numbers are %v", stats)
	}

	cut() // the router has its placements in memory
	router.token = admin
	router.do(http.MethodGet, "/v1/clusters/"+tools, nil, 200)
	at["east"].stop()
	<-at["east"].ended
	router.token = demo
	router.do(http.MethodGet, "/v1/clusters/"+shop, nil, 503)
	router.token = admin
	router.do(http.MethodGet, "/v1/clusters/"+tools, nil, 200)
	router.do(http.MethodGet, "/v1/clusters", nil, 503)
	front.do(http.MethodGet, "/v1/clusters/"+shop, nil, 200) // which it serves itself
	for _, r := range []*replica{router, front} {
		if log := r.log.String(); strings.Contains(log, demo) || strings.Contains(log, admin) {
			t.Error("a token in the log")
		}
	}
	if status, text := get("http://" + router.metrics + "/metrics"); status != http.StatusOK || !strings.Contains(text, `slipway_magnum_router_request_duration_seconds_count{method="GET",route="/v1/clusters",status="503"}`) {
		t.Errorf("metrics: %d", status)
	}
}
