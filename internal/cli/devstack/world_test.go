package devstack_test

import (
	"bytes"
	"context"
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
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/images/imagetest"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// world is a host with the plugin and an OpenStack. The program, the openstack command and
// the services are real. On a sandbox, systemd and iptables are stand-ins and the management
// cluster is an API server; on a devcloud these are real too.
type world struct {
	t    *testing.T
	site site
	// room is where the host's processes are.
	room  *room
	work  string
	env   []string
	local []string
	// kubeconfig leads to the management cluster; serviced is one that a service of the host
	// runs.
	kubeconfig string
	serviced   bool
	web        *httptest.Server
	requests   *counter
	// made are the clusters that the API made and that are there, each with a credential.
	made    int
	outside *outside
}

// site is an OpenStack, and where a host in it is.
type site struct {
	admin, member sandboxtest.Clients
	// keystone is its URL, clouds the path of a clouds.yaml as devstack writes it.
	keystone, clouds string
	// host is the host's address, test the one at which it reaches the test.
	host, test string
	// network is the path of the host's network namespace, empty for this one's.
	network string
	// settings are lines of local.conf, variables those that devstack sets.
	settings, variables []string
}

// onSandbox is a sandbox without machines.
func onSandbox(t *testing.T) site {
	t.Helper()
	sandbox := sandboxtest.Start(t)
	// devstack's Keystone has it before plugins are asked (lib/keystone).
	if _, err := projects.Create(t.Context(), sandbox.Admin.Identity(t), projects.CreateOpts{Name: "service", DomainID: "default"}).Extract(); err != nil {
		t.Fatal(err)
	}
	return site{admin: sandbox.Admin, member: sandbox.Member, keystone: sandbox.URL() + "/identity", clouds: clouds(t, sandbox), host: "127.0.0.1", test: "127.0.0.1",
		settings: []string{"SLIPWAY_API_PORT=" + strconv.Itoa(freePort(t))}}
}

// floating has the floating IPs of the devcloud, at which the controllers reach clusters: a
// developer behind a proxy excepts them.
const floating = "198.19.0.0/16"

// outside stands for everything that is not on the host: a proxy that lets nobody out, and
// remembers who was asked for.
type outside struct {
	mu    sync.Mutex
	asked []string
}

func (o *outside) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked = append(o.asked, r.Method+" "+r.Host)
	http.Error(w, "nobody gets out", http.StatusForbidden)
}

func (o *outside) hosts() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.asked)
}

// counter counts the bytes of the node image that were fetched.
type counter struct{ uploads int }

func newWorld(t *testing.T, on site, local ...string) *world {
	t.Helper()
	w := &world{t: t, site: on, work: t.TempDir(), requests: &counter{}, outside: &outside{}}
	proxy := w.serve(w.outside)
	w.room = newRoom(t, w.work, on.network)
	t.Cleanup(func() { w.phases("unstack") }) // ends the services also of a failed test
	program, err := os.Executable()
	w.must(err)
	sum := w.install(program, "download/slipway")
	w.must(os.MkdirAll(w.path("devstack/files"), 0o755))
	w.must(os.MkdirAll(w.path("stack/data"), 0o755))
	node := imagetest.Qcow2(imagetest.Disk(1, 2), imagetest.Options{})
	digest := sha256.Sum256(node)
	w.web = w.serve(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.Header.Get("Range") == "" {
			w.requests.uploads++
		}
		http.ServeContent(rw, r, "node.qcow2", time.Time{}, bytes.NewReader(node))
	}))
	w.local = append(append(local, on.settings...), "SLIPWAY_BUNDLE_DIR="+os.Getenv("SLIPWAY_BUNDLE"), "SLIPWAY_SMALL_MACHINE=True",
		"SLIPWAY_BINARY_URL=file://"+w.path("download/slipway"), "SLIPWAY_BINARY_SHA256="+sum,
		"SLIPWAY_NODE_IMAGE_URL="+w.web.URL+"/node.qcow2", "SLIPWAY_NODE_IMAGE_SHA256="+hex.EncodeToString(digest[:]), "SLIPWAY_NODE_IMAGE_KUBERNETES_VERSION=v1.34.4",
		"SLIPWAY_UNSTACK_TIMEOUT=10m")
	w.conf()
	w.env = append(w.variables(), "http_proxy="+proxy.URL, "https_proxy="+proxy.URL, "no_proxy=127.0.0.1,localhost,"+floating+","+on.test+","+on.host)
	return w
}

// variables are those of stack.sh.
func (w *world) variables() []string {
	w.t.Helper()
	var folders []string
	for _, name := range []string{"testdata", "testdata/standin", "../../../stacks/devstack/testdata", "../../../devstack"} {
		folder, err := filepath.Abs(name)
		w.must(err)
		folders = append(folders, folder)
	}
	programs := folders[0] + ":"
	if !w.room.whole {
		programs += folders[1] + ":"
	}
	return append(slices.Clone(w.site.variables), "PATH="+programs+"/usr/sbin:/usr/bin:/sbin:/bin", "WORK="+w.work, "HARNESS="+folders[2], "PLUGIN="+folders[3], "HOME="+w.work,
		"HOST_IP="+w.site.host, "KEYSTONE_SERVICE_URI="+w.site.keystone, "OS_CLIENT_CONFIG_FILE="+w.site.clouds, "SLIPWAY_DEVSTACK="+os.Getenv("SLIPWAY_DEVSTACK"))
}

// serve serves where the host reaches it.
func (w *world) serve(handler http.Handler) *httptest.Server {
	w.t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(w.site.test, "0"))
	w.must(err)
	server := httptest.NewUnstartedServer(handler)
	w.must(server.Listener.Close())
	server.Listener = listener
	server.Start()
	w.t.Cleanup(server.Close)
	return server
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) path(name string) string { return filepath.Join(w.work, name) }

// conf writes local.conf, as devstack extracts it.
func (w *world) conf(more ...string) {
	w.t.Helper()
	w.local = append(w.local, more...)
	w.must(os.WriteFile(w.path("devstack/.localrc.auto"), []byte(strings.Join(w.local, "\n")+"\n"), 0o600))
}

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
	// Not the test's context: it has ended when the services of a failed test are.
	stack, err := filepath.Abs("../../../stacks/devstack/testdata/stack.sh")
	w.must(err)
	cmd := w.room.command(context.Background(), "/bin/bash", append([]string{stack}, phases...)...)
	cmd.Env = w.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("%q: %v\n%s\n%s", phases, err, out, w.logs())
	}
	return string(out)
}

// logs are those of the services.
func (w *world) logs() string {
	if w.room.whole {
		out, _ := w.room.command(context.Background(), "journalctl", "--no-pager", "--output=cat", "-n", "80", "-u", "devstack@*").CombinedOutput()
		state, _ := w.room.command(context.Background(), "systemctl", "status", "--no-pager", "--lines=0", "devstack@*").CombinedOutput() // says how a service ended
		return string(out) + string(state)
	}
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
	pages, err := images.List(w.site.admin.Image(w.t), images.ListOpts{Name: "slipway-node-v1.34.4"}).AllPages(w.t.Context())
	w.must(err)
	list, err := images.ExtractImages(pages)
	w.must(err)
	return list
}
