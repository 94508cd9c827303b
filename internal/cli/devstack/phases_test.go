package devstack_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-sh/slipway/images/imagetest"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// world is a host with the plugin, whose OpenStack is a sandbox without machines and whose
// management cluster is an API server. The program, the openstack command and the services
// are real; systemd, iptables and sudo are stand-ins.
type world struct {
	t        *testing.T
	sandbox  *sandboxtest.Cloud
	work     string
	env      []string
	requests *counter
}

// counter counts the bytes of the node image that were fetched.
type counter struct{ uploads int }

func newWorld(t *testing.T) *world {
	t.Helper()
	server := kubetest.Start(t) // skips without SLIPWAY_BUNDLE
	server.Define(t)
	w := &world{t: t, sandbox: sandboxtest.Start(t), work: t.TempDir(), requests: &counter{}}
	t.Cleanup(func() { w.phases("unstack") }) // ends the services also of a failed test
	// devstack's Keystone has it before plugins are asked (lib/keystone).
	_, err := projects.Create(t.Context(), w.sandbox.Admin.Identity(t), projects.CreateOpts{Name: "service", DomainID: "default"}).Extract()
	w.must(err)
	program, err := os.Executable()
	w.must(err)
	sum := w.install(program, "download/slipway")
	w.must(os.MkdirAll(w.path("devstack/files"), 0o755))
	w.must(os.MkdirAll(w.path("stack/data"), 0o755))
	w.must(os.WriteFile(w.path("kubeconfig"), server.Kubeconfig, 0o600))
	node := imagetest.Qcow2(imagetest.Disk(1, 2), imagetest.Options{})
	digest := sha256.Sum256(node)
	web := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.Header.Get("Range") == "" {
			w.requests.uploads++
		}
		http.ServeContent(rw, r, "node.qcow2", time.Time{}, bytes.NewReader(node))
	}))
	t.Cleanup(web.Close)
	port := freePort(t)
	local := []string{"SLIPWAY_MODE=external", "SLIPWAY_KUBECONFIG=" + w.path("kubeconfig"), "SLIPWAY_BUNDLE_DIR=" + os.Getenv("SLIPWAY_BUNDLE"), "SLIPWAY_SMALL_MACHINE=True",
		"SLIPWAY_BINARY_URL=file://" + w.path("download/slipway"), "SLIPWAY_BINARY_SHA256=" + sum, "SLIPWAY_API_PORT=" + strconv.Itoa(port),
		"SLIPWAY_NODE_IMAGE_URL=" + web.URL + "/node.qcow2", "SLIPWAY_NODE_IMAGE_SHA256=" + hex.EncodeToString(digest[:]), "SLIPWAY_NODE_IMAGE_KUBERNETES_VERSION=v1.34.4",
		"SLIPWAY_UNSTACK_TIMEOUT=2m"}
	w.must(os.WriteFile(w.path("devstack/.localrc.auto"), []byte(strings.Join(local, "\n")+"\n"), 0o600))
	testdata, err := filepath.Abs("testdata")
	w.must(err)
	harness, err := filepath.Abs("../../../stacks/devstack/testdata")
	w.must(err)
	plugin, err := filepath.Abs("../../../devstack")
	w.must(err)
	w.env = []string{"PATH=" + testdata + ":/usr/sbin:/usr/bin:/sbin:/bin", "WORK=" + w.work, "HARNESS=" + harness, "PLUGIN=" + plugin, "HOME=" + w.work,
		"HOST_IP=127.0.0.1", "KEYSTONE_SERVICE_URI=" + w.sandbox.URL() + "/identity", "OS_CLIENT_CONFIG_FILE=" + clouds(t, w.sandbox), "SLIPWAY_DEVSTACK=" + os.Getenv("SLIPWAY_DEVSTACK")}
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) path(name string) string { return filepath.Join(w.work, name) }

// install copies a program and returns its digest.
func (w *world) install(from, name string) string {
	w.t.Helper()
	in, err := os.Open(from)
	w.must(err)
	defer in.Close()
	w.must(os.MkdirAll(filepath.Dir(w.path(name)), 0o755))
	out, err := os.OpenFile(w.path(name), os.O_CREATE|os.O_WRONLY, 0o755)
	w.must(err)
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, hash), in)
	w.must(errors.Join(err, out.Close()))
	return hex.EncodeToString(hash.Sum(nil))
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// phases runs phases of stack.sh, unstack.sh or clean.sh.
func (w *world) phases(phases ...string) string {
	w.t.Helper()
	cmd := exec.Command("/bin/bash", append([]string{"../../../stacks/devstack/testdata/stack.sh"}, phases...)...)
	cmd.Env = w.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("%q: %v\n%s\n%s", phases, err, out, w.logs())
	}
	return string(out)
}

// logs are those of the services.
func (w *world) logs() string {
	var all strings.Builder
	files, _ := filepath.Glob(w.path("units/*.log"))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		all.WriteString(filepath.Base(file) + "\n" + string(text[max(0, len(text)-4000):]))
	}
	return all.String()
}

// rows are what the openstack command lists.
func (w *world) rows(args ...string) (rows []map[string]any) {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), "openstack", append(args, "-f", "json")...)
	cmd.Env = w.env
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("openstack %q: %v\n%s", args, err, said.String())
	}
	w.must(json.Unmarshal(out, &rows))
	return rows
}

// nodeImages are the images of the plugin.
func (w *world) nodeImages() []images.Image {
	w.t.Helper()
	pages, err := images.List(w.sandbox.Admin.Image(w.t), images.ListOpts{Name: "slipway-node-v1.34.4"}).AllPages(w.t.Context())
	w.must(err)
	list, err := images.ExtractImages(pages)
	w.must(err)
	return list
}

// TestPhasesOnACloud stacks twice with the real program, looks at what is in the cloud, and
// counts what is left after unstack and clean.
//
// proves: D-11, D-12, D-14, D-15
func TestPhasesOnACloud(t *testing.T) {
	w := newWorld(t)
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
	}
	tempest, err := os.ReadFile(w.path("tempest.conf"))
	if err != nil || !strings.Contains(string(tempest), "image_id = "+image) {
		t.Errorf("Tempest: %v\n%s", err, tempest)
	}
	w.cluster()
	w.phases("unstack")
	w.none()
	if n := held(t, w.sandbox); n != 0 {
		t.Errorf("%d application credentials are left", n)
	}
	w.ended()
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
	if n := held(w.t, w.sandbox); n != 1 {
		w.t.Errorf("run %d: %d application credentials", run, n)
	}
}

// openstack runs the command as the user demo.
func (w *world) openstack(args ...string) string {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), "openstack", append([]string{"--os-cloud", "devstack"}, args...)...)
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
	config, err := clientcmd.BuildConfigFromFlags("", w.path("kubeconfig"))
	w.must(err)
	client, err := dynamic.NewForConfig(config)
	w.must(err)
	list, err := client.Resource(schema.GroupVersionResource{Group: group, Version: version, Resource: "clusters"}).List(w.t.Context(), metav1.ListOptions{})
	w.must(err)
	return len(list.Items)
}

// none checks that unstack left no cluster.
func (w *world) none() {
	w.t.Helper()
	if outer, inner := w.clusters("magnum.slipway.sh", "v1alpha1"), w.clusters("cluster.x-k8s.io", "v1beta2"); outer+inner > 0 {
		w.t.Errorf("left %d and %d clusters\n%s", outer, inner, w.logs())
	}
}

// ended checks that no service runs.
func (w *world) ended() {
	w.t.Helper()
	files, err := filepath.Glob(w.path("units/*.pid"))
	if err != nil || len(files) != 2 {
		w.t.Errorf("services: %q (%v)", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		w.must(err)
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		w.must(err)
		if err := syscall.Kill(pid, 0); err == nil {
			w.t.Errorf("%s still runs", filepath.Base(file))
		}
	}
}
