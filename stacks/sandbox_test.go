package stacks_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/pulumi/pulumi-go-provider/infer"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
	"github.com/slipway-sh/slipway/stacks/engine/pulumi"
	resources "github.com/slipway-sh/slipway/stacks/openstack"
)

// TestMain lets the test's binary be the engine, as main does.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == pulumi.Name {
		os.Exit(pulumi.Main(context.Background(), os.Args[1:], os.Environ()))
	}
	if os.Getenv(childFolder) != "" {
		os.Exit(child())
	}
	os.Exit(m.Run())
}

// clients are those of one login; every call is noted.
type clients struct {
	provider *gophercloud.ProviderClient
	region   gophercloud.EndpointOpts
	calls    *calls
}

func (c clients) Compute() (*gophercloud.ServiceClient, error) {
	return openstack.NewComputeV2(c.provider, c.region)
}
func (c clients) Network() (*gophercloud.ServiceClient, error) {
	return openstack.NewNetworkV2(c.provider, c.region)
}
func (c clients) Image() (*gophercloud.ServiceClient, error) {
	return openstack.NewImageV2(c.provider, c.region)
}
func (c clients) Volume() (*gophercloud.ServiceClient, error) {
	return openstack.NewBlockStorageV3(c.provider, c.region)
}
func (c clients) Identity() (*gophercloud.ServiceClient, error) {
	return openstack.NewIdentityV3(c.provider, c.region)
}

func (c clients) LoadBalancer() (*gophercloud.ServiceClient, error) {
	return openstack.NewLoadBalancerV2(c.provider, c.region)
}

func (c clients) ObjectStore() (*gophercloud.ServiceClient, error) {
	return openstack.NewObjectStorageV1(c.provider, c.region)
}

func (c clients) Region() string { return c.region.Region }

func (clients) OtherRegions() bool { return false }

// calls are the requests that were sent. answered is called when one was, with
// how many there were, and how many of them change something.
type calls struct {
	mu       sync.Mutex
	list     []string
	answered func(all, changes int)
	// before is called before a request is sent, nil for not.
	before func(*http.Request)
	// credential is the answer to the making of an application credential.
	credential []byte
}

func (c *calls) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.list = append(c.list, r.Method+" "+r.URL.Path)
	answered, before := c.answered, c.before
	c.mu.Unlock()
	if before != nil {
		before(r)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/application_credentials") {
		text, err := io.ReadAll(response.Body)
		if err != nil {
			return nil, err
		}
		response.Body = io.NopCloser(bytes.NewReader(text))
		c.mu.Lock()
		c.credential = text
		c.mu.Unlock()
	}
	if answered != nil {
		answered(c.count(), len(c.writing()))
	}
	return response, err
}

// isWriting reports whether a call changes something.
func isWriting(call string) bool {
	return !strings.HasPrefix(call, "GET ") && !strings.HasPrefix(call, "HEAD ") && !strings.HasSuffix(call, "/auth/tokens")
}

func (c *calls) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = nil
}

func (c *calls) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.list)
}

// writing are the calls that change something.
func (c *calls) writing() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.list), func(call string) bool { return !isWriting(call) })
}

// world is a sandbox, a folder and an environment in them.
type world struct {
	folder    string
	clients   clients
	userID    string
	env       stacks.Environment
	inventory resources.Inventory
	events    *event.Recorder
	// administrator is nobody unless a test needs one.
	administrator resources.Administrator
	// installK3s is called while k3s is installed, nil for nothing.
	installK3s func()
	// more are further resources, nil for none.
	more func() []infer.InferredResource
}

func newWorld(t *testing.T, cloud *sandboxtest.Cloud, yaml string) *world {
	t.Helper()
	w, err := open(t.Context(), cloud.URL(), cloud.Passwords().Demo, t.TempDir(), yaml)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// open makes a world without a test, for children that are to be killed, too.
func open(ctx context.Context, url, password, folder, yaml string) (*world, error) {
	noted := &calls{}
	login := sandboxtest.User("demo", password, "demo")
	login.IdentityEndpoint = url + "/identity"
	provider, err := openstack.NewClient(login.IdentityEndpoint)
	if err != nil {
		return nil, err
	}
	provider.HTTPClient = http.Client{Transport: noted}
	if err := openstack.Authenticate(ctx, provider, login); err != nil {
		return nil, err
	}
	result := provider.GetAuthResult().(tokens.CreateResult)
	user, err := result.ExtractUser()
	if err != nil {
		return nil, err
	}
	loaded, err := config.Parse(config.Source{Name: filepath.Join(folder, "slipway.yaml"), Text: []byte("apiVersion: slipway.sh/v1alpha1\nkind: Environment\n" + yaml)})
	if err != nil {
		return nil, err
	}
	w := &world{folder: folder, userID: user.ID, events: &event.Recorder{},
		clients: clients{provider, gophercloud.EndpointOpts{Region: "RegionOne"}, noted}}
	w.env = stacks.Environment{Config: loaded.Environment}
	w.inventory = resources.Inventory{Clients: w.clients, UserID: user.ID, KeyPairs: []string{stacks.StepKeyPair}}
	return w, w.choose(ctx)
}

// choose finds ids as preflight does.
func (w *world) choose(ctx context.Context) error {
	network, err := w.clients.Network()
	if err != nil {
		return err
	}
	pages, err := networks.List(network, networks.ListOpts{Name: "public"}).AllPages(ctx)
	if err != nil {
		return err
	}
	public, err := networks.ExtractNetworks(pages)
	if err != nil || len(public) == 0 {
		return fmt.Errorf("no external network: %v", err)
	}
	w.env.Choices.ExternalNetworkID, w.env.Choices.FloatingNetworkID = public[0].ID, public[0].ID
	if w.env.Choices.FlavorID, err = w.flavor(ctx, "m1.large"); err != nil {
		return err
	}
	bytes := bytes.Repeat([]byte("image"), 1000)
	sum := sha256.Sum256(bytes)
	path := filepath.Join(w.folder, "image.raw")
	w.env.Image = stacks.ImageFile{Path: path, SHA256: hex.EncodeToString(sum[:]), Format: "raw"}
	return os.WriteFile(path, bytes, 0o600)
}

func (w *world) flavor(ctx context.Context, name string) (string, error) {
	compute, err := w.clients.Compute()
	if err != nil {
		return "", err
	}
	pages, err := flavors.ListDetail(compute, nil).AllPages(ctx)
	if err != nil {
		return "", err
	}
	list, err := flavors.ExtractFlavors(pages)
	for _, f := range list {
		if f.Name == name {
			return f.ID, nil
		}
	}
	return "", fmt.Errorf("no flavor %s: %v", name, err)
}

func (w *world) engine() (*engine.Engine, error) {
	folder := filepath.Join(w.folder, ".slipway")
	return engine.New(engine.Options{Environment: w.env.Config.Metadata.Name, Folder: folder, Events: w.events,
		Passphrase: engine.PassphraseFile(filepath.Join(folder, "passphrase")),
		Resources: func() []infer.InferredResource {
			all := append(resources.Resources(w.clients, w.userID, filepath.Join(folder, "keys"), w.administrator), onSeed(w.installK3s)...)
			if w.more != nil {
				return append(all, w.more()...)
			}
			return append(all, onMagnum()...)
		}})
}

func (w *world) run(t *testing.T) *engine.Engine {
	t.Helper()
	e, err := w.engine()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (w *world) up(t *testing.T) engine.Report {
	t.Helper()
	report, err := w.run(t).Up(t.Context(), w.env.Program)
	if err != nil {
		t.Fatalf("up: %v", err)
	}
	return report
}

// loseState deletes the state and all that is kept beside it.
func (w *world) loseState(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(w.folder, ".slipway")); err != nil {
		t.Fatal(err)
	}
}

// things returns what the environment has in the cloud.
func (w *world) things(t *testing.T) []resources.Resource {
	t.Helper()
	list, err := w.inventory.List(t.Context(), w.env.Config.Metadata.Name)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// only returns the single thing of a step; none or two end the test.
func (w *world) only(t *testing.T, step string) resources.Resource {
	t.Helper()
	var found []resources.Resource
	for _, thing := range w.things(t) {
		if thing.Step == step {
			found = append(found, thing)
		}
	}
	if len(found) != 1 {
		t.Fatalf("step %s: %+v", step, found)
	}
	return found[0]
}

// report is an error as a user reads it.
func report(err error) string {
	var b strings.Builder
	for _, one := range fault.All(err) {
		fmt.Fprintf(&b, "%v; fix: %s\n", one, fault.Remedy(one))
	}
	return b.String()
}

func isDone(step string) func(event.Event) bool {
	return func(e event.Event) bool { return e.Step == step && e.State == event.Done }
}

// output is what the program exported in the last up.
func (w *world) output(t *testing.T, name string) any {
	t.Helper()
	outputs, err := w.run(t).Outputs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return outputs[name]
}

// must ends the test on an error.
func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
