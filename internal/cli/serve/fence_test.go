package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	addons "github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/internal/ownership"
	"github.com/slipway-sh/slipway/internal/recovery/fence"
	"github.com/slipway-sh/slipway/internal/recovery/restore"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/internal/ui"
)

// counting is a server in front of another one. It counts the writing requests that
// succeed, and can be cut off.
type counting struct {
	*httptest.Server
	writes atomic.Int32
	cut    atomic.Bool
}

// newCounting forwards to a server. Answers name the counting server instead of it, so
// that clients that follow a catalog stay here.
func newCounting(t *testing.T, to string, transport http.RoundTripper) *counting {
	t.Helper()
	at, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	c := &counting{}
	forward := &httputil.ReverseProxy{Transport: transport, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(at); r.Out.Header.Del("Accept-Encoding") },
		ModifyResponse: func(r *http.Response) error {
			login := strings.HasSuffix(r.Request.URL.Path, "/v3/auth/tokens")
			if r.Request.Method != http.MethodGet && r.Request.Method != http.MethodHead && !login && r.StatusCode < 400 {
				c.writes.Add(1)
			}
			if !login && r.Request.URL.Path != "/identity/v3" && r.Request.URL.Path != "/identity/v3/" && r.Request.URL.Path != "/identity" && r.Request.URL.Path != "/identity/" {
				return nil
			}
			text, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			text = bytes.ReplaceAll(text, []byte(to), []byte(c.URL))
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
			r.Header.Set("Content-Length", strconv.Itoa(len(text)))
			return nil
		}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.cut.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(c.Close)
	return c
}

// old is a former management cluster: its API server with all it knows of a cluster of
// a tenant, which has work to do for both controllers.
type old struct {
	*testing.T
	box           *sandboxtest.Cloud
	cloud, tenant *counting
	at            *kube.Cluster
	kubeconfig    string
	fence         fence.Fence
	volume        string
}

func newOld(t *testing.T) *old {
	t.Helper()
	o := &old{T: t, box: sandboxtest.Start(t)}
	management, tenant := kubetest.Start(t), kubetest.Start(t)
	o.cloud = newCounting(t, o.box.URL(), http.DefaultTransport)
	transport, err := rest.TransportFor(tenant.Config)
	if err != nil {
		t.Fatal(err)
	}
	o.tenant = newCounting(t, tenant.Config.Host, transport)
	if o.at, err = kube.New(management.Config); err != nil {
		t.Fatal(err)
	}
	o.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(o.kubeconfig, management.Kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, text := range addons.Definitions() {
		o.apply(string(text))
	}
	o.apply(standIn("cluster.x-k8s.io", "Cluster", "clusters"))
	o.apply(standIn("infrastructure.cluster.x-k8s.io", "OpenStackCluster", "openstackclusters"))
	owner := ownership.New("demo", "seed-access")
	g, err := groups.Create(t.Context(), o.box.Member.Network(t), groups.CreateOpts{Name: owner.Name(), Description: owner.Description()}).Extract()
	if err == nil {
		_, err = attributestags.ReplaceAll(t.Context(), o.box.Member.Network(t), "security-groups", g.ID, attributestags.ReplaceAllOpts{Tags: owner.Tags()}).Extract()
	}
	if err != nil {
		t.Fatal(err)
	}
	o.fence = fence.Fence{Network: o.box.Member.Network(t), Environment: "demo"}
	o.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: kube-system, name: slipway-recovery}\n")
	return o
}

func standIn(group, kind, plural string) string {
	return fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[3]s.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {kind: %[2]s, listKind: %[2]sList, plural: %[3]s, singular: %[4]s}
  versions:
  - {name: v1beta1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v1beta2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`, group, kind, plural, strings.ToLower(kind))
}

func (o *old) apply(text string) {
	o.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		err := o.at.Apply(o.Context(), []byte(text))
		if err == nil {
			return
		}
		if time.Now().After(end) { // definitions take a moment
			o.Fatal(err)
		}
	}
}

func (o *old) clouds() string {
	return fmt.Sprintf("clouds: {openstack: {region_name: RegionOne, auth: {auth_url: '%s/identity', username: demo, password: '%s', project_name: demo, user_domain_name: Default, project_domain_name: Default}}}\n",
		o.cloud.URL, o.box.Passwords().Demo)
}

// work leaves work for both controllers: addons to install on the tenant's cluster, and
// a deleted cluster whose volume is to be deleted in the cloud.
func (o *old) work(name string) {
	o.Helper()
	secret := fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {namespace: default, name: %s-cloud}\nstringData: {clouds.yaml: %q}\n", name, o.clouds())
	kubeconfig := "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c}}]\nclusters: [{name: c, cluster: {server: '" + o.tenant.URL + "'}}]\n"
	o.apply(secret + "---\n" + fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {namespace: default, name: %s-kubeconfig}\nstringData: {value: %q}\n", name, kubeconfig))
	o.apply(fmt.Sprintf(`apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata: {namespace: default, name: %[1]s, finalizers: [janitor.capi.stackhpc.com]}
spec: {identityRef: {name: %[1]s-cloud, cloudName: openstack}, controlPlaneEndpoint: {host: 203.0.113.9, port: 6443}}
status: {network: {name: n}, externalNetwork: {id: e}}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {namespace: default, name: %[1]s}
spec: {controlPlaneEndpoint: {host: 203.0.113.9, port: 6443}, infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: OpenStackCluster, name: %[1]s}}
status: {phase: Provisioned, conditions: [{type: ControlPlaneInitialized, status: "True"}, {type: Ready, status: "True"}]}
---
apiVersion: addons.stackhpc.com/v1alpha1
kind: Manifests
metadata: {namespace: default, name: %[1]s-addon}
spec: {clusterName: %[1]s, bootstrap: true, targetNamespace: default, manifestSources: [{template: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %[1]s-made}\n"}]}
`, name))
	gone := name + "-gone"
	o.apply(fmt.Sprintf(`apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata: {namespace: default, name: %[1]s, finalizers: [janitor.capi.stackhpc.com]}
spec: {identityRef: {name: %[2]s-cloud, cloudName: openstack}, controlPlaneEndpoint: {host: 203.0.113.9, port: 6443}}
`, gone, name))
	v, err := volumes.Create(o.Context(), o.box.Member.BlockStorage(o.T), volumes.CreateOpts{Size: 1, Metadata: map[string]string{"cinder.csi.openstack.org/cluster": gone}}, nil).Extract()
	if err != nil {
		o.Fatal(err)
	}
	o.volume = v.ID
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("infrastructure.cluster.x-k8s.io/v1beta1")
	object.SetKind("OpenStackCluster")
	object.SetNamespace("default")
	client, err := o.at.Resource(object)
	if err == nil {
		err = client.Delete(o.Context(), gone, metav1.DeleteOptions{})
	}
	if err != nil {
		o.Fatal(err)
	}
}

// running is a process of controllers.
type running struct {
	log             syncBuffer
	health, metrics string
	stop            func()
}

func (o *old) start() *running {
	o.Helper()
	clouds := filepath.Join(o.TempDir(), "clouds.yaml")
	if err := os.WriteFile(clouds, []byte(o.clouds()), 0o600); err != nil {
		o.Fatal(err)
	}
	r := &running{health: freeAddress(o.T), metrics: freeAddress(o.T)}
	settings := options{kubeconfig: o.kubeconfig, healthAddress: r.health, metricsAddress: r.metrics, logLevel: "info", logFormat: "text", shutdown: 5 * time.Second, electionNamespace: "default", sameNames: true,
		fence: fenceOptions{environment: "demo", clouds: clouds, entry: "openstack", every: 500 * time.Millisecond, patience: 3 * time.Second}}
	sets := []set{addonSet(), janitorSet()}
	for _, s := range sets {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		s.flags(flags)
		for name, value := range map[string]string{"addon-retry-delay": "200ms", "janitor-retry-delay": "2s", "addon-cache": o.TempDir(), "addon-charts": o.TempDir()} {
			if flags.Lookup(name) != nil {
				if err := flags.Set(name, value); err != nil {
					o.Fatal(err)
				}
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- settings.run(ctx, ui.Streams{Err: &r.log}, sets) }()
	stopped := false
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			o.Errorf("controllers: %v\n%s", err, r.log.String())
		}
	}
	o.Cleanup(func() {
		r.stop()
		if o.Failed() {
			o.Logf("controllers said:\n%s", r.log.String())
		}
	})
	return r
}

func (r *running) ready() bool {
	status, _ := get("http://" + r.health + "/readyz")
	return status == http.StatusOK
}

func (r *running) metric(name string) string {
	_, text := get("http://" + r.metrics + "/metrics")
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// fenced makes sure that a process writes nothing for a while, and says so.
func (o *old) fenced(r *running, within time.Duration) {
	o.Helper()
	eventually(o.T, "closed fence", func() bool { return r.metric("slipway_fence_open") == "0" })
	cloud, tenant := o.cloud.writes.Load(), o.tenant.writes.Load()
	time.Sleep(within)
	if c, k := o.cloud.writes.Load()-cloud, o.tenant.writes.Load()-tenant; c != 0 || k != 0 {
		o.Errorf("%d successful writes in the cloud, %d on the tenant's cluster\n%s", c, k, r.log.String())
	}
	if err := volumes.Get(o.Context(), o.box.Member.BlockStorage(o.T), o.volume).Err; err != nil {
		o.Errorf("the volume: %v", err)
	}
	if r.ready() {
		o.Error("it is ready")
	}
	// A look at a cloud that does not answer takes a while, and the log is told after it.
	eventually(o.T, "a line in the log", func() bool { return strings.Contains(r.log.String(), "the fence is closed") })
	eventually(o.T, "event", func() bool {
		list, err := o.at.Typed.CoreV1().Events("default").List(o.Context(), metav1.ListOptions{})
		if err != nil {
			o.Fatal(err)
		}
		for _, e := range list.Items {
			if e.Reason == "Fenced" && e.Type == corev1.EventTypeWarning {
				return true
			}
		}
		return false
	})
}

// TestAFormerManagementClusterWritesNothing: it works, its hypervisor goes away, the
// environment is rebuilt, and it comes back, at first cut off from the cloud.
func TestAFormerManagementClusterWritesNothing(t *testing.T) {
	o := newOld(t)
	o.work("first")
	r := o.start()
	eventually(t, "work before the rebuild", func() bool { return o.cloud.writes.Load() > 0 && o.tenant.writes.Load() > 0 })
	eventually(t, "the volume's end", func() bool {
		return gophercloud.ResponseCodeIs(volumes.Get(t.Context(), o.box.Member.BlockStorage(t), o.volume).Err, http.StatusNotFound)
	})
	if !r.ready() || r.metric("slipway_fence_open") != "1" {
		t.Errorf("it is not ready, or the fence is not open: %q", r.metric("slipway_fence_open"))
	}
	if ours, err := restore.Current(t.Context(), o.at.Typed); err != nil || ours != 0 {
		t.Errorf("generation %d, %v", ours, err)
	}

	// Its network goes away while it runs. The clusters of tenants are still in reach.
	o.cloud.cut.Store(true)
	eventually(t, "its patience ends", func() bool { return r.metric("slipway_fence_open") == "0" })
	o.work("second")
	o.fenced(r, 5*time.Second)
	r.stop()

	// The environment is rebuilt, and it starts again, first without its network.
	if err := o.fence.Take(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	r = o.start()
	o.fenced(r, 5*time.Second)
	o.cloud.cut.Store(false)
	eventually(t, "it sees the rebuild", func() bool { return r.metric("slipway_fence_cloud_generation") == "1" })
	o.fenced(r, 8*time.Second)
	if r.metric("slipway_fence_generation") != "0" {
		t.Errorf("its generation is %s", r.metric("slipway_fence_generation"))
	}

	// Would it be seen? The same work is done where the generation is ours.
	cloud, tenant := o.cloud.writes.Load(), o.tenant.writes.Load()
	if err := restore.RecordGeneration(t.Context(), o.at, 1); err != nil {
		t.Fatal(err)
	}
	eventually(t, "work of the new generation", func() bool { return o.cloud.writes.Load() > cloud && o.tenant.writes.Load() > tenant })
	eventually(t, "readiness", r.ready)
}
