package devstack_test

import (
	"encoding/base64"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

// TestPhasesOnACloud stacks twice with the real program, looks at what is in the cloud,
// unstacks, counts what is left, stacks once more, and cleans. Everything outside of the
// host is blocked, api.github.com too, and nobody asks for it.
//
// proves: D-09, D-10, D-11, D-12, D-15, D-20
func TestPhasesOnACloud(t *testing.T) {
	server := kubetest.Start(t) // skips without SLIPWAY_BUNDLE
	server.Define(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, server.Kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, onSandbox(t), "SLIPWAY_MODE=external", "SLIPWAY_KUBECONFIG="+kubeconfig)
	w.kubeconfig = kubeconfig
	stack := []string{"stack pre-install", "stack install", "stack post-config", "stack extra", "stack test-config"}
	var image string
	for run := range 2 {
		w.phases(stack...)
		list := w.nodeImages()
		if len(list) != 1 || list[0].Status != images.ImageStatusActive || list[0].Visibility != images.ImageVisibilityPublic {
			t.Fatalf("run %d: images %+v", run, list)
		}
		if image == "" {
			image = list[0].ID
		}
		if list[0].ID != image || w.requests.uploads != 1 {
			t.Errorf("run %d: image %s after %s, fetched %d times", run, list[0].ID, image, w.requests.uploads)
		}
		for property, want := range map[string]string{"os_distro": "ubuntu", "os_version": "24.04", "kube_version": "v1.34.4", "kubernetes_version": "v1.34.4"} {
			if got, _ := list[0].Properties[property].(string); strings.TrimPrefix(got, "v") != strings.TrimPrefix(want, "v") {
				t.Errorf("%s is %q", property, got)
			}
		}
		w.inCatalog(run)
		w.running()
		first, second := w.credential(), ""
		if run == 0 { // its secret is lost: another one takes its place
			w.must(os.Remove(w.path("stack/data/slipway/credential/clouds.yaml")))
			w.phases("stack extra")
			if second = w.credential(); second == first || w.held() != 1 {
				t.Errorf("after the loss of credential %s there is %s, of %d", first, second, w.held())
			}
		}
		// The second run has no network.
		w.web.Close()
		w.conf("OFFLINE=True")
	}
	tempest, err := os.ReadFile(w.path("tempest.conf"))
	if err != nil || !strings.Contains(string(tempest), "image_id = "+image) {
		t.Errorf("Tempest: %v\n%s", err, tempest)
	}
	w.cluster()
	w.phases("unstack")
	w.none()
	w.withdrawn()
	if n := w.held(); n != 0 {
		t.Errorf("%d application credentials are left", n)
	}
	w.ended()
	w.phases(stack...)
	w.inCatalog(2)
	w.running()
	w.phases("unstack")
	w.ended()
	if asked := w.outside.hosts(); len(asked) > 0 {
		t.Errorf("asked for %q", asked)
	}
	w.phases("clean")
	for _, name := range []string{"stack/data/slipway", "stack/bin/slipway"} {
		if _, err := os.Stat(w.path(name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left (%v)", name, err)
		}
	}
	for _, table := range []string{"filter", "nat"} {
		if text, err := os.ReadFile(w.path("rules-" + table)); err != nil || len(text) > 0 {
			t.Errorf("rules of %s are left: %s (%v)", table, text, err)
		}
	}
}

// inCatalog looks at what there must be exactly once, with Debian's openstack command: the
// template comes from the API, by the address in the catalog, as the user demo.
func (w *world) inCatalog(run int) {
	w.t.Helper()
	count := func(want int, args ...string) []map[string]any {
		w.t.Helper()
		rows := w.rows(append([]string{"--os-cloud", "devstack-admin"}, args...)...)
		if len(rows) != want {
			w.t.Errorf("run %d: openstack %s: %v", run, strings.Join(args, " "), rows)
		}
		return rows
	}
	count(3, "endpoint", "list", "--service", "container-infra")
	for _, args := range [][]string{{"service", "list"}, {"flavor", "list", "--all"}, {"user", "list"}} {
		rows, found := w.rows(append([]string{"--os-cloud", "devstack-admin"}, args...)...), 0
		for _, row := range rows {
			if row["Type"] == "container-infra" || row["Name"] == "ds2G20" || row["Name"] == "slipway" {
				found++
			}
		}
		if found != 1 {
			w.t.Errorf("run %d: openstack %q: %v", run, args, rows)
		}
	}
	rows := w.rows("--os-cloud", "devstack", "coe", "cluster", "template", "list")
	if len(rows) != 1 || rows[0]["name"] != "k8s-v1-34-4" {
		w.t.Errorf("run %d: templates for the user demo: %v", run, rows)
	}
	if n := w.held(); n != 1+w.made {
		w.t.Errorf("run %d: %d application credentials, %d of them of clusters", run, n, w.made)
	}
}

// openstack runs the command as the user demo.
func (w *world) openstack(args ...string) string {
	w.t.Helper()
	return w.openstackAs("devstack", args...)
}

func (w *world) openstackAs(entry string, args ...string) string {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), "openstack", append([]string{"--os-cloud", entry}, args...)...)
	cmd.Env = w.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("openstack %q: %v\n%s\n%s", args, err, out, w.logs())
	}
	return string(out)
}

// cluster creates a cluster of the template, as the user demo. Its objects are there when
// the controllers have made them; nothing would run them.
func (w *world) cluster() {
	w.t.Helper()
	w.openstack("keypair", "create", "mine")
	w.openstack("coe", "cluster", "create", "shop", "--cluster-template", "k8s-v1-34-4", "--keypair", "mine", "--master-count", "1", "--node-count", "1")
	for end := time.Now().Add(time.Minute); w.clusters("cluster.x-k8s.io", "v1beta2") == 0; time.Sleep(time.Second) {
		if time.Now().After(end) {
			w.t.Fatalf("the controllers made no cluster: %s\n%s", w.openstack("coe", "cluster", "show", "shop"), w.logs())
		}
	}
}

// clusters counts the clusters of a group on the management cluster.
func (w *world) clusters(group, version string) int {
	w.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", w.kubeconfig)
	w.must(err)
	client, err := dynamic.NewForConfig(config)
	w.must(err)
	list, err := client.Resource(schema.GroupVersionResource{Group: group, Version: version, Resource: "clusters"}).List(w.t.Context(), metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return 0 // unstack took the kind away
	}
	w.must(err)
	return len(list.Items)
}

// credential is the ID of the application credential in the file, which Cluster API's
// provider for OpenStack gets by a Secret.
func (w *world) credential() string {
	w.t.Helper()
	path := w.path("stack/data/slipway/credential/clouds.yaml")
	text, err := os.ReadFile(path)
	w.must(err)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		w.t.Errorf("credential: %v (%v)", info, err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", w.kubeconfig)
	w.must(err)
	client, err := dynamic.NewForConfig(config)
	w.must(err)
	secret, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace("default").Get(w.t.Context(), "slipway-devstack-cloud", metav1.GetOptions{})
	w.must(err)
	stored, _, err := unstructured.NestedString(secret.Object, "data", "clouds.yaml")
	if kept, decoding := base64.StdEncoding.DecodeString(stored); err != nil || decoding != nil || string(kept) != string(text) {
		w.t.Errorf("the Secret differs from the file: %v, %v", err, decoding)
	}
	_, id, found := strings.Cut(string(text), "application_credential_id: ")
	if !found {
		w.t.Fatal("the file has no application credential")
	}
	id, _, _ = strings.Cut(id, "\n")
	return id
}

// services are those that the plugin starts.
func (w *world) services() []string {
	services := []string{"slipway-api", "slipway-controllers"}
	if w.serviced {
		services = append(services, "slipway-k3s")
	}
	return services
}

// is asks systemd about the unit of a service.
func (w *world) is(state, service string) bool {
	cmd := w.room.command(w.t.Context(), "systemctl", "is-"+state, "devstack@"+service+".service")
	cmd.Env = w.env
	return cmd.Run() == nil
}

// running checks that the units are enabled and active.
func (w *world) running() {
	w.t.Helper()
	for _, service := range w.services() {
		if !w.is("enabled", service) || !w.is("active", service) {
			w.t.Errorf("%s does not run\n%s", service, w.logs())
		}
	}
}

// held counts the application credentials of the user demo.
func (w *world) held() int { return held(w.t, w.site.admin, w.site.member) }

// none checks that unstack left no cluster.
func (w *world) none() {
	w.t.Helper()
	if outer, inner := w.clusters("magnum.slipway.sh", "v1alpha1"), w.clusters("cluster.x-k8s.io", "v1beta2"); outer+inner > 0 {
		w.t.Errorf("left %d and %d clusters\n%s", outer, inner, w.logs())
	}
}

// withdrawn checks that nothing of the plugin is on a cluster of somebody else, and that its
// Cluster API is.
func (w *world) withdrawn() {
	w.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", w.kubeconfig)
	w.must(err)
	client, err := dynamic.NewForConfig(config)
	w.must(err)
	var there []string
	for _, kind := range []schema.GroupVersionResource{{Version: "v1", Resource: "namespaces"}, {Version: "v1", Resource: "secrets"}, {Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}} {
		list, err := client.Resource(kind).List(w.t.Context(), metav1.ListOptions{})
		w.must(err)
		for _, o := range list.Items {
			there = append(there, o.GetName())
		}
	}
	for _, name := range there {
		if strings.HasPrefix(name, "magnum-") || strings.HasSuffix(name, ".magnum.slipway.sh") || strings.HasSuffix(name, ".addons.stackhpc.com") || name == "slipway-devstack-cloud" {
			w.t.Errorf("unstack left %s", name)
		}
	}
	if !slices.Contains(there, "clusters.cluster.x-k8s.io") {
		w.t.Error("unstack took Cluster API away")
	}
}

// ended checks that no service runs.
func (w *world) ended() {
	w.t.Helper()
	for _, service := range w.services() {
		if w.is("enabled", service) || w.is("active", service) {
			w.t.Errorf("%s still runs", service)
		}
	}
}

// TestK3sTakesItsConfiguration starts the bundle's k3s as the unit says, but without an
// agent, which would change the host: it is a node on its own. The phases before extra and
// the kubeconfig are real; then unstack and clean end all of it.
func TestK3sTakesItsConfiguration(t *testing.T) {
	if os.Getenv("SLIPWAY_BUNDLE") == "" {
		t.Skip("SLIPWAY_BUNDLE names no bundle: run make e2e")
	}
	w := newWorld(t, onSandbox(t), "SLIPWAY_K3S_PORT="+strconv.Itoa(freePort(t)))
	w.phases("stack pre-install", "stack install", "stack post-config")
	if info, err := os.Stat(w.path("stack/data/slipway/k3s/agent/images/slipway.tar")); err != nil || info.Size() < 10<<20 {
		t.Errorf("container images: %v (%v)", info, err)
	}
	before := w.env
	w.env = append(slices.Clone(before), "CALL=slipway_kubeconfig")
	w.phases("stack later") // a phase that does nothing
	w.env = before
	info, err := os.Stat(w.path("stack/data/slipway/kubeconfig"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("kubeconfig: %v (%v)\n%s", info, err, w.logs())
	}
	config, err := clientcmd.BuildConfigFromFlags("", w.path("stack/data/slipway/kubeconfig"))
	w.must(err)
	client, err := dynamic.NewForConfig(config)
	w.must(err)
	for end := time.Now().Add(time.Minute); ; time.Sleep(500 * time.Millisecond) {
		_, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Get(t.Context(), "kube-system", metav1.GetOptions{})
		if err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%v\n%s", err, w.logs())
		}
	}
	time.Sleep(3 * time.Second) // what k3s would deploy by itself is there by then
	deployments, err := client.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}).List(t.Context(), metav1.ListOptions{})
	w.must(err)
	for _, d := range deployments.Items {
		if d.GetName() != "coredns" {
			t.Errorf("k3s deploys %s", d.GetName())
		}
	}
	w.phases("unstack")
	w.phases("clean")
	if _, err := os.Stat(w.path("stack/data/slipway")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the data is left (%v)", err)
	}
}
