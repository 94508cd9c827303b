package api_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"k8s.io/utils/clock"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
	"github.com/slipway-sh/slipway/internal/sandbox/transition"
)

// thing is the resource of the service under test.
type thing struct {
	ID    string   `json:"id"`
	Name  string   `json:"name"`
	Size  int      `json:"size"`
	Big   bool     `json:"big"`
	Tags  []string `json:"tags"`
	Owner *string  `json:"owner"`
}

// fixture is a service of things on a server.
type fixture struct {
	*httptest.Server
	env    *api.Env
	events *event.Recorder
	things *store.Table[thing]
}

// start serves a service; edit may change it before.
func start(t *testing.T, edit func(f *fixture, s *api.Service)) *fixture {
	t.Helper()
	records, err := store.Open("")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := faultinject.Open("")
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{events: &event.Recorder{}, things: store.NewTable(records, "things", func(v thing) string { return v.ID })}
	f.env = &api.Env{Store: records, Faults: rules, Events: f.events, Timing: transition.Timing{Clock: clock.RealClock{}}}
	service := &api.Service{Name: "thing", Type: "things", Prefix: "/things", Errors: api.NovaErrors, Routes: []api.Route{
		{Pattern: "GET /v1/things/{id}", Role: api.Reader, Handle: f.show},
		{Pattern: "DELETE /v1/things/{id}", Role: api.Member, Handle: f.remove},
		{Pattern: "POST /v1/things", Role: api.Member, Handle: f.create},
		{Pattern: "POST /v1/secret", Role: api.Admin, Handle: f.create},
		{Pattern: "GET /v1/panic", Role: api.Public, Handle: func(*api.Call) error { panic("at the disco") }},
		{Pattern: "GET /v1/broken", Role: api.Public, Handle: func(*api.Call) error { return errors.New("the database is on fire") }},
	}}
	if edit != nil {
		edit(f, service)
	}
	handler, err := api.NewServer(f.env, authenticate, service)
	if err != nil {
		t.Fatal(err)
	}
	f.Server = httptest.NewServer(handler)
	t.Cleanup(f.Close)
	return f
}

// authenticate takes the name of a role as a token.
func authenticate(token string) (*api.Principal, error) {
	if !slices.Contains([]string{"nobody", "reader", "member", "admin", "ruled"}, token) {
		return nil, errors.New("no such token")
	}
	p := &api.Principal{Roles: []string{token}, ProjectID: "p", User: model.User{ID: "u", Name: "user"}}
	if token == "ruled" {
		p.Roles = []string{"member"}
		p.AccessRules = &[]model.AccessRule{{Service: "things", Method: "GET", Path: "/v1/things/*"}}
	}
	return p, nil
}

func (f *fixture) show(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		v, ok := f.things.Get(r, c.Path("id"))
		if !ok {
			return api.NotFound("Thing %s could not be found.", c.Path("id"))
		}
		return c.Reply(http.StatusOK, map[string]any{"thing": v})
	})
}

func (f *fixture) remove(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		f.things.Delete(tx, c.Path("id"))
		return c.Reply(http.StatusNoContent, nil)
	})
}

func (f *fixture) create(c *api.Call) error {
	var v thing
	if err := c.DecodeIn("thing", &v); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		f.things.Put(tx, v)
		return c.Reply(http.StatusCreated, map[string]any{"thing": v})
	})
}

func (f *fixture) put(t *testing.T, things ...thing) {
	t.Helper()
	_ = f.env.Store.Update(func(tx *store.Tx) error {
		for _, v := range things {
			f.things.Put(tx, v)
		}
		return nil
	})
}

// answer is what a call got.
type answer struct {
	status int
	header http.Header
	text   string
}

func (f *fixture) call(t *testing.T, method, path, token, body string, header ...string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, f.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Auth-Token", token)
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := f.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(text)}
}

// decode reads the body as JSON.
func (a answer) decode(t *testing.T, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.text), into); err != nil {
		t.Fatalf("%v: %s", err, a.text)
	}
}

func TestAdmission(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	f.put(t, thing{ID: "1"})
	const body = `{"thing":{"id":"2"}}`
	for _, c := range []struct {
		method, path, token string
		status              int
	}{
		{"GET", "/things/v1/things/1", "", 401}, {"GET", "/things/v1/things/1", "wrong", 401},
		{"GET", "/things/v1/things/1", "nobody", 403}, {"GET", "/things/v1/things/1", "reader", 200},
		{"GET", "/things/v1/things/1/", "reader", 200}, {"GET", "/things//v1/things//1", "reader", 200},
		{"HEAD", "/things/v1/things/1", "reader", 200}, {"GET", "/things/v1/things/9", "reader", 404},
		{"POST", "/things/v1/things", "reader", 403}, {"POST", "/things/v1/things", "member", 201},
		{"POST", "/things/v1/things", "admin", 201}, {"POST", "/things/v1/secret", "member", 403},
		{"POST", "/things/v1/secret", "admin", 201}, {"GET", "/things/v1/nothing", "admin", 404},
		{"GET", "/things/v1/nothing", "", 401}, {"PUT", "/things/v1/things/1", "admin", 405},
		{"GET", "/thingsandmore", "admin", 404}, {"GET", "/", "", 404},
		{"GET", "/things/v1/things/1", "ruled", 200}, {"POST", "/things/v1/things", "ruled", 401},
	} {
		got := f.call(t, c.method, c.path, c.token, body)
		if got.status != c.status {
			t.Errorf("%s %s as %q: %d, want %d (%s)", c.method, c.path, c.token, got.status, c.status, got.text)
		}
		if !strings.HasPrefix(got.header.Get("X-Openstack-Request-Id"), "req-") {
			t.Errorf("%s %s: no request id", c.method, c.path)
		}
		if c.status == 401 && !strings.HasPrefix(got.header.Get("Www-Authenticate"), "Keystone uri=") {
			t.Errorf("%s %s: no WWW-Authenticate", c.method, c.path)
		}
		if c.status == 405 && !strings.Contains(got.header.Get("Allow"), "DELETE") {
			t.Errorf("%s %s: Allow is %q", c.method, c.path, got.header.Get("Allow"))
		}
	}
}

func TestRoutesWithoutRoleAreRefused(t *testing.T) {
	t.Parallel()
	ok := func(*api.Call) error { return nil }
	for name, routes := range map[string][]api.Route{
		"no role":  {{Pattern: "GET /a", Handle: ok}},
		"conflict": {{Pattern: "GET /a/{x}", Role: api.Admin, Handle: ok}, {Pattern: "GET /a/{y}", Role: api.Admin, Handle: ok}},
	} {
		if _, err := api.NewServer(&api.Env{}, authenticate, &api.Service{Name: "s", Routes: routes}); err == nil {
			t.Errorf("%s: the service was taken", name)
		}
	}
}

func TestFaultsOfTheSandboxItself(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	for path, cause := range map[string]string{"/things/v1/panic": "at the disco", "/things/v1/broken": "on fire"} {
		got := f.call(t, "GET", path, "", "")
		if got.status != 500 || strings.Contains(got.text, cause) || !strings.Contains(got.text, "computeFault") {
			t.Errorf("%s: %d %s", path, got.status, got.text)
		}
		if !slices.ContainsFunc(f.events.Events(), func(e event.Event) bool { return strings.Contains(e.Error, cause) }) {
			t.Errorf("%s: the log does not tell the cause", path)
		}
	}
}

func TestBadBodies(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	for name, c := range map[string]struct {
		body   string
		status int
	}{
		"cut off":    {`{"thing":{"id":`, 400},
		"empty":      {``, 400},
		"list":       {`[]`, 400},
		"no key":     {`{"other":{}}`, 400},
		"null":       {`{"thing":null}`, 400},
		"wrong type": {`{"thing":{"size":"large"}}`, 400},
		"too long":   {`{"thing":{"name":"` + strings.Repeat("x", 1<<20) + `"}}`, 413},
	} {
		got := f.call(t, "POST", "/things/v1/things", "member", c.body)
		var body map[string]struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		}
		got.decode(t, &body)
		key := map[int]string{400: "badRequest", 413: "overLimit"}[c.status]
		if got.status != c.status || body[key].Code != c.status || body[key].Message == "" {
			t.Errorf("%s: %d %s", name, got.status, got.text)
		}
	}
}
