package lifecycle

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/go-logr/logr"

	"github.com/slipway-sh/slipway/addons/magnum/keystone"
	"github.com/slipway-sh/slipway/addons/magnum/policy"
	magnum "github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/addons/openstackapi"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/api"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/callback"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/view"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/worker"
	"github.com/slipway-sh/slipway/internal/kube"
)

type object = map[string]any

// tokens are those that the tests use: role and project.
type tokens struct{}

func (tokens) Validate(_ context.Context, token, _ string) (*keystone.Token, error) {
	role, project, ok := strings.Cut(token, "@")
	if !ok {
		return nil, keystone.ErrInvalid
	}
	roles := []string{role}
	if role == "member" {
		roles = append(roles, "reader") // Keystone's implied role
	}
	return &keystone.Token{ID: token, UserID: "user-" + role, ProjectID: project, Roles: roles}, nil
}

// door is the endpoint of one project, with the worker in this process unless it is
// elsewhere.
type door struct {
	t         *testing.T
	w         *world
	http      *httptest.Server
	project   string
	namespace string
	options   *worker.Options
	clock     *clocktesting.FakePassiveClock
	log       *syncBuffer
	replies   *syncBuffer
	token     string
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// workerOptions are the same here and in a process that is killed.
func workerOptions(config *rest.Config, c client.Client, base string, log *slog.Logger) (*worker.Options, error) {
	k, err := kube.New(config)
	if err != nil {
		return nil, err
	}
	rules, err := callback.NewRules([]string{"127.0.0.1"}, nil)
	if err != nil {
		return nil, err
	}
	return &worker.Options{Client: c, Kube: k, Config: config, Endpoints: []string{config.Host}, Caller: callback.NewCaller(rules), Links: view.Links{Base: base},
		Log: log, Poll: 400 * time.Millisecond, Retry: 200 * time.Millisecond}, nil
}

// work runs the worker of a namespace until ctx ends.
func work(ctx context.Context, t testing.TB, config *rest.Config, namespace string, o *worker.Options) error {
	m, err := manager.New(config, manager.Options{Scheme: scheme(t), Logger: logr.Discard(), Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0"})
	if err != nil {
		return err
	}
	if err := worker.Setup(m, o); err != nil {
		return err
	}
	return m.Start(ctx)
}

func (w *world) open(t *testing.T, project string, edits ...func(*worker.Options, *api.Options)) *door {
	t.Helper()
	d := &door{t: t, w: w, project: project, namespace: magnum.Namespace(project), clock: clocktesting.NewFakePassiveClock(time.Now()), log: &syncBuffer{}, replies: &syncBuffer{}, token: "member@" + project}
	log := slog.New(slog.NewTextHandler(d.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	d.http = httptest.NewUnstartedServer(nil)
	base := "http://" + d.http.Listener.Addr().String()
	var err error
	if d.options, err = workerOptions(w.server.Config, w.client, base, log); err != nil {
		t.Fatal(err)
	}
	d.options.Clock = d.clock
	p, err := policy.Of("the endpoint", api.PolicyDefaults(), nil)
	if err != nil {
		t.Fatal(err)
	}
	addresses, err := openstackapi.NewAddresses(base, view.Root, false)
	if err != nil {
		t.Fatal(err)
	}
	a := api.Options{Worker: d.options, Tokens: tokens{}, Policy: p, AuthURL: "http://keystone", Addresses: addresses, VIMID: "here", Log: log}
	elsewhere := false
	for _, edit := range edits {
		if edit == nil {
			elsewhere = true
			continue
		}
		edit(d.options, &a)
	}
	if err := d.options.Prepare(); err != nil {
		t.Fatal(err)
	}
	handler, err := api.New(a)
	if err != nil {
		t.Fatal(err)
	}
	d.http.Config.Handler = handler
	d.http.Start()
	t.Cleanup(d.http.Close)
	if !elsewhere {
		running, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- work(running, t, w.server.Config, d.namespace, d.options) }()
		t.Cleanup(func() {
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
	return d
}

// answer is what came back.
type answer struct {
	t      *testing.T
	what   string
	status int
	header http.Header
	text   []byte
}

// do asks, with Version and the member's token unless the headers say otherwise.
func (d *door) do(method, path string, body any, headers ...string) answer {
	d.t.Helper()
	var text []byte
	if s, ok := body.(string); ok {
		text = []byte(s)
	} else if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			d.t.Fatal(err)
		}
	}
	if !strings.HasPrefix(path, "/vnflcm") && !strings.HasPrefix(path, "http") {
		path = view.Root + "/" + path
	}
	if !strings.HasPrefix(path, "http") {
		path = d.http.URL + path
	}
	r, err := http.NewRequestWithContext(d.t.Context(), method, path, bytes.NewReader(text))
	if err != nil {
		d.t.Fatal(err)
	}
	r.Header.Set("Version", "2.0.0")
	r.Header.Set("X-Auth-Token", d.token)
	if text != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if r.Header.Set(headers[i], headers[i+1]); headers[i+1] == "" {
			r.Header.Del(headers[i])
		}
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer response.Body.Close()
	a := answer{t: d.t, what: method + " " + path, status: response.StatusCode, header: response.Header}
	if a.text, err = io.ReadAll(response.Body); err != nil {
		d.t.Fatal(err)
	}
	fmt.Fprintln(d.replies, a.header, string(a.text))
	return a
}

func (a answer) want(status int, words ...string) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("%s: %d %s", a.what, a.status, a.text)
	}
	for _, word := range words {
		if !strings.Contains(string(a.text), word) {
			a.t.Errorf("%s: %s does not say %q", a.what, a.text, word)
		}
	}
	if status >= 400 && a.header.Get("Content-Type") != "application/problem+json" && status != 401 {
		a.t.Errorf("%s: an error is %s", a.what, a.header.Get("Content-Type"))
	}
	return a
}

func (a answer) document() object {
	a.t.Helper()
	var d object
	if err := json.Unmarshal(a.text, &d); err != nil {
		a.t.Fatalf("%s: %v: %s", a.what, err, a.text)
	}
	return d
}

func (a answer) documents() (all []object) {
	a.t.Helper()
	if err := json.Unmarshal(a.text, &all); err != nil {
		a.t.Fatalf("%s: %v: %s", a.what, err, a.text)
	}
	return all
}

func (a answer) str(name string) string {
	a.t.Helper()
	s, _ := a.document()[name].(string)
	return s
}

// create makes an instance.
func (d *door) create(vnfd string) string {
	d.t.Helper()
	return d.do("POST", "vnf_instances", object{"vnfdId": vnfd, "vnfInstanceName": "shop"}).want(201).str("id")
}

// start posts an operation and returns its id.
func (d *door) start(instance, verb string, body any) string {
	d.t.Helper()
	a := d.do("POST", "vnf_instances/"+instance+"/"+verb, body).want(202)
	location := a.header.Get("Location")
	return location[strings.LastIndexByte(location, '/')+1:]
}

// reach waits until an operation is in a state.
func (d *door) reach(op string, state v1alpha1.OperationState) object {
	d.t.Helper()
	var last object
	eventually(d.t, fmt.Sprintf("operation %s does not become %s", op, state), func() (bool, string) {
		last = d.do("GET", "vnf_lcm_op_occs/"+op, nil).want(200).document()
		return last["operationState"] == string(state), fmt.Sprint(last)
	})
	return last
}

// run performs an operation that ends in a state.
func (d *door) run(instance, verb string, body any, state v1alpha1.OperationState) object {
	d.t.Helper()
	return d.reach(d.start(instance, verb, body), state)
}

// instantiation is the body that puts a package into the project's namespace.
func (d *door) instantiation(files []string) object {
	return object{"flavourId": "default", "additionalParams": object{"lcm-kubernetes-def-files": files, "namespace": d.namespace}}
}
