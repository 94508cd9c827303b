package workload

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	addons "github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/addons/magnum"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks"
)

// patience of tests is for machines that are busy with others.
const patience = 90 * time.Second

// world is a management cluster that is an API server with Cluster API's
// definitions, and a cloud. The test does what controllers would.
type world struct {
	*testing.T
	*Management
	server *kubetest.Server
	box    *sandboxtest.Cloud
	cloud  Cloud
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server := kubetest.Start(t)
	m, err := New("prod", server.Config)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, Management: m, server: server}
	w.box, w.cloud = openCloud(t)
	var definitions [][]byte
	for _, text := range addons.Definitions() {
		definitions = append(definitions, text)
	}
	tenants, err := magnum.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range tenants {
		definitions = append(definitions, text)
	}
	server.Define(t, definitions...)
	return w
}

// openCloud starts a cloud and logs in as an operator.
func openCloud(t *testing.T) (*sandboxtest.Cloud, Cloud) {
	t.Helper()
	box := sandboxtest.Start(t)
	text, err := os.ReadFile(box.CloudsYAML())
	if err != nil {
		t.Fatal(err)
	}
	opened, err := cloud.Open(t.Context(), cloud.Options{Cloud: "sandbox", CloudsYAML: text})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	granted := opened.Provider.GetAuthResult().(tokens.CreateResult)
	user, err := granted.ExtractUser()
	if err != nil {
		t.Fatal(err)
	}
	project, err := granted.ExtractProject()
	if err != nil {
		t.Fatal(err)
	}
	return box, Cloud{Clients: opened, UserID: user.ID, Roles: []string{"member"},
		Login: stacks.Cloud{AuthURL: opened.Provider.IdentityEndpoint, Region: "RegionOne", Interface: "public", ProjectID: project.ID}}
}

func (w *world) eventually(what string, done func() bool) {
	w.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			w.Fatalf("%s: not in time", what)
		}
	}
}

// in is the world for a subtest.
func (w *world) in(t *testing.T) *world {
	inner := *w
	inner.T = t
	return &inner
}

func kindOf(name string) schema.GroupVersionResource {
	group, version := "cluster.x-k8s.io", "v1beta2"
	switch name {
	case "kubeadmcontrolplanes":
		group = "controlplane.cluster.x-k8s.io"
	case "openstackclusters", "openstackmachines", "openstackmachinetemplates":
		group, version = "infrastructure.cluster.x-k8s.io", "v1beta1"
	case "helmreleases", "manifests":
		group, version = "addons.stackhpc.com", "v1alpha1"
	}
	return schema.GroupVersionResource{Group: group, Version: version, Resource: name}
}

func (w *world) get(kind string, key Key) *unstructured.Unstructured {
	w.Helper()
	o, err := w.Kube.Dynamic.Resource(kindOf(kind)).Namespace(key.Namespace).Get(w.Context(), key.Name, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return o
}

// say writes the status of an object, as YAML, as its controller would.
func (w *world) say(kind string, key Key, status string) {
	w.Helper()
	w.eventually("the status of "+kind+" "+key.String(), func() bool {
		o := w.get(kind, key)
		o.Object["status"] = parse(w.T, strings.ReplaceAll(status, "GENERATION", string(rune('0'+o.GetGeneration()))))
		_, err := w.Kube.Dynamic.Resource(kindOf(kind)).Namespace(key.Namespace).UpdateStatus(w.Context(), o, metav1.UpdateOptions{})
		if err != nil {
			w.Logf("%s %s: %v", kind, key, err)
		}
		return err == nil
	})
}

func condition(kind, status string) string {
	return "{type: " + kind + ", status: \"" + status + "\", reason: Test, lastTransitionTime: \"2026-01-02T03:04:05Z\", message: \"\"}"
}

// controlPlaneUp says that a control plane of so many machines is ready.
func (w *world) controlPlaneUp(key Key, machines string) {
	w.Helper()
	label := []byte(`{"metadata":{"labels":{"` + clusterapi.Label + `":"` + key.Name + `"}}}`) // Cluster API puts it there
	if _, err := w.Kube.Dynamic.Resource(kindOf("kubeadmcontrolplanes")).Namespace(key.Namespace).Patch(w.Context(), key.Name+"-control-plane", types.MergePatchType, label, metav1.PatchOptions{}); err != nil {
		w.Fatal(err)
	}
	w.say("openstackclusters", key, "ready: true")
	w.say("kubeadmcontrolplanes", Key{Namespace: key.Namespace, Name: key.Name + "-control-plane"},
		"{observedGeneration: GENERATION, replicas: "+machines+", readyReplicas: "+machines+", upToDateReplicas: "+machines+", version: v1.34.4, conditions: ["+condition("Available", "True")+"]}")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: key.Name + "-kubeconfig", OwnerReferences: w.owned(key)}, StringData: map[string]string{"value": "kubeconfig of " + key.String()}}
	if _, err := w.Kube.Typed.CoreV1().Secrets(key.Namespace).Create(w.Context(), secret, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
}

// owned has an object collected with the Cluster.
func (w *world) owned(key Key) []metav1.OwnerReference {
	cluster := w.get("clusters", key)
	return []metav1.OwnerReference{{APIVersion: cluster.GetAPIVersion(), Kind: cluster.GetKind(), Name: cluster.GetName(), UID: cluster.GetUID()}}
}

// workersUp says that workers, addons and so the cluster are ready.
func (w *world) workersUp(key Key, machines string) {
	w.Helper()
	w.say("machinedeployments", Key{Namespace: key.Namespace, Name: key.Name + "-md-0"},
		"{observedGeneration: GENERATION, replicas: "+machines+", readyReplicas: "+machines+", upToDateReplicas: "+machines+"}")
	for _, kind := range []string{"helmreleases", "manifests"} {
		list, err := w.Kube.Dynamic.Resource(kindOf(kind)).Namespace(key.Namespace).List(w.Context(), metav1.ListOptions{})
		if err != nil {
			w.Fatal(err)
		}
		for _, o := range list.Items {
			w.say(kind, Key{Namespace: key.Namespace, Name: o.GetName()}, "phase: Deployed")
		}
	}
	w.say("clusters", key, "{phase: Provisioned, conditions: ["+condition("Available", "True")+"]}")
}

// credentials are the names of the application credentials of a cluster.
func (w *world) credentials(cluster string) (ids []string) {
	w.Helper()
	return credentialsOf(w.T, w.box, w.cloud, cluster)
}

func credentialsOf(t *testing.T, box *sandboxtest.Cloud, c Cloud, cluster string) (ids []string) {
	t.Helper()
	pages, err := applicationcredentials.List(box.Member.Identity(t), c.UserID, nil).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := applicationcredentials.ExtractApplicationCredentials(pages)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range list {
		if strings.HasPrefix(one.Name, "prod-cluster-"+cluster+"-") {
			if one.Unrestricted {
				t.Errorf("%s is unrestricted", one.Name)
			}
			ids = append(ids, one.ID)
		}
	}
	return ids
}

// create makes a cluster without waiting.
func (w *world) create(cluster Wanted) (Key, Change) {
	w.Helper()
	key, change, err := w.Create(w.Context(), w.cloud, cluster, func(string) {})
	if err != nil {
		w.Fatal(err)
	}
	return key, change
}

// background is a Create under way.
type background struct {
	mu   sync.Mutex
	said []string
	done chan error
}

func (w *world) start(ctx context.Context, cluster Wanted) *background {
	b := &background{done: make(chan error, 1)}
	go func() {
		_, _, err := w.Create(ctx, w.cloud, cluster, b.say)
		b.done <- err
	}()
	return b
}

func (b *background) say(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said = append(b.said, text)
}

func (b *background) saying() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.said) == 0 {
		return ""
	}
	return b.said[len(b.said)-1]
}

// end waits for the end.
func (b *background) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-b.done:
		return err
	case <-time.After(patience):
		t.Fatalf("it still waits: %s", b.saying())
		return nil
	}
}

var errKilled = errors.New("killed")

// killed is a client configuration of a process that is killed before its nth
// request that writes: nothing is sent any more.
func killed(config *rest.Config, n int) (dying *rest.Config, died func() bool) {
	var mu sync.Mutex
	count := 0
	dying = rest.CopyConfig(config)
	dying.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			if r.Method != http.MethodGet {
				count++
			}
			dead := count >= n
			mu.Unlock()
			if dead {
				return nil, errKilled
			}
			return next.RoundTrip(r)
		})
	})
	return dying, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return count >= n
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
