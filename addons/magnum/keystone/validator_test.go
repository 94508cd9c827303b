package keystone

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// moved is a clock that tests move.
type moved struct{ after atomic.Int64 }

func (m *moved) now() time.Time        { return time.Now().Add(time.Duration(m.after.Load())) }
func (m *moved) move(by time.Duration) { m.after.Add(int64(by)) }
func fixed(c *gophercloud.ServiceClient) func(context.Context) (*gophercloud.ServiceClient, error) {
	return func(context.Context) (*gophercloud.ServiceClient, error) { return c, nil }
}

// between counts requests to a Keystone and breaks them at will.
type between struct {
	below  http.RoundTripper
	calls  atomic.Int32
	broken atomic.Bool
}

func (b *between) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.broken.Load() {
		return nil, errors.New("connection refused")
	}
	b.calls.Add(1)
	return b.below.RoundTrip(r)
}

func start(t *testing.T) (*sandboxtest.Cloud, *Validator, *between, *moved) {
	t.Helper()
	cloud := sandboxtest.Start(t)
	wire := &between{below: http.DefaultTransport}
	identity := cloud.Admin.Identity(t)
	identity.ProviderClient.HTTPClient = http.Client{Transport: wire}
	clock := &moved{}
	return cloud, NewValidator(Options{Identity: fixed(identity), Now: clock.now, Region: "RegionOne"}), wire, clock
}

func TestValidate(t *testing.T) {
	t.Parallel()
	cloud, v, wire, clock := start(t)
	id := cloud.Member.Provider.Token()
	token, err := v.Validate(t.Context(), id, "")
	if err != nil {
		t.Fatal(err)
	}
	if token.UserName != "demo" || token.ProjectID == "" || !slices.Contains(token.Roles, "reader") || !token.HasRole("MEMBER") || token.Restricted || token.ID != id {
		t.Errorf("%+v", token)
	}
	if token.Endpoint("nothing", "compute") == "" || token.Endpoint("nothing") != "" {
		t.Errorf("endpoints %v", token.Endpoints)
	}
	before := wire.calls.Load()
	for range 10 {
		if _, err := v.Validate(t.Context(), id, ""); err != nil {
			t.Fatal(err)
		}
	}
	if wire.calls.Load() != before {
		t.Error("a known token was asked for again")
	}
	clock.move(61 * time.Second)
	if _, err := v.Validate(t.Context(), id, ""); err != nil || wire.calls.Load() != before+1 {
		t.Errorf("%v after %d calls: a minute bounds what is remembered", err, wire.calls.Load()-before)
	}
}

func TestRevokedTokenEndsWithinTheBound(t *testing.T) {
	t.Parallel()
	cloud, v, _, clock := start(t)
	id := cloud.Member.Provider.Token()
	if _, err := v.Validate(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	if err := tokens.Revoke(t.Context(), cloud.Admin.Identity(t), id).Err; err != nil {
		t.Fatal(err)
	}
	clock.move(61 * time.Second)
	if _, err := v.Validate(t.Context(), id, ""); !errors.Is(err, ErrInvalid) {
		t.Errorf("%v", err)
	}
}

func TestInvalidTokens(t *testing.T) {
	t.Parallel()
	_, v, wire, _ := start(t)
	for _, id := range []string{"", "nonsense"} {
		if _, err := v.Validate(t.Context(), id, ""); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", id, err)
		}
	}
	before := wire.calls.Load()
	if _, err := v.Validate(t.Context(), "nonsense", ""); !errors.Is(err, ErrInvalid) || wire.calls.Load() != before {
		t.Errorf("%v: that a token is wrong is remembered too", err)
	}
}

func TestExpiredTokenIsRefusedWithoutAsking(t *testing.T) {
	t.Parallel()
	cloud, _, wire, clock := start(t)
	v := NewValidator(Options{Identity: fixed(cloud.Admin.Identity(t)), Now: clock.now, Remember: 24 * time.Hour})
	id := cloud.Member.Provider.Token()
	if _, err := v.Validate(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	wire.broken.Store(true)
	clock.move(2 * time.Hour)
	if _, err := v.Validate(t.Context(), id, ""); !errors.Is(err, ErrInvalid) {
		t.Errorf("%v", err)
	}
}

func TestUnavailableKeystone(t *testing.T) {
	t.Parallel()
	cloud, v, wire, clock := start(t)
	id := cloud.Member.Provider.Token()
	if _, err := v.Validate(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	wire.broken.Store(true)
	if _, err := v.Validate(t.Context(), id, ""); err != nil {
		t.Errorf("%v: a known token works while Keystone is away", err)
	}
	if _, err := v.Validate(t.Context(), "other", ""); !errors.Is(err, ErrUnavailable) {
		t.Errorf("%v", err)
	}
	clock.move(2 * time.Minute)
	if _, err := v.Validate(t.Context(), id, ""); !errors.Is(err, ErrUnavailable) {
		t.Errorf("%v: what is remembered ends though Keystone is away", err)
	}
	wire.broken.Store(false)
	if _, err := v.Validate(t.Context(), id, ""); err != nil {
		t.Errorf("%v: it works again", err)
	}
}

func TestServiceUserThatCannotLogIn(t *testing.T) {
	t.Parallel()
	tries := 0
	v := NewValidator(Options{Identity: func(context.Context) (*gophercloud.ServiceClient, error) {
		tries++
		return nil, errors.New("wrong password")
	}})
	for range 2 {
		if _, err := v.Validate(t.Context(), "x", ""); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%v", err)
		}
	}
	if tries != 2 {
		t.Errorf("%d tries: the next request tries again", tries)
	}
}

func TestProjectExists(t *testing.T) {
	t.Parallel()
	cloud, v, wire, _ := start(t)
	token, err := v.Validate(t.Context(), cloud.Member.Provider.Token(), "")
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]bool{token.ProjectID: true, "nothing": false} {
		if got, err := v.ProjectExists(t.Context(), id); err != nil || got != want {
			t.Errorf("%s: %v, %v", id, got, err)
		}
	}
	operator, err := v.Validate(t.Context(), cloud.Admin.Provider.Token(), "")
	if err != nil {
		t.Fatal(err)
	}
	// With the caller's token: others' projects are an administrator's to see.
	for id, want := range map[string][2]bool{token.ProjectID: {true, true}, operator.ProjectID: {false, true}, "nothing": {false, false}} {
		for i, caller := range []string{cloud.Member.Provider.Token(), cloud.Admin.Provider.Token()} {
			if got, err := v.ProjectExistsFor(t.Context(), caller, id); err != nil || got != want[i] {
				t.Errorf("%s for caller %d: %v, %v", id, i, got, err)
			}
		}
	}
	wire.broken.Store(true)
	if _, err := v.ProjectExists(t.Context(), token.ProjectID); !errors.Is(err, ErrUnavailable) {
		t.Errorf("%v", err)
	}
}

// keystoneOf answers validations by token, with the query that was asked.
func keystoneOf(t *testing.T, answers map[string]string) (*Validator, *[]string) {
	t.Helper()
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("X-Subject-Token")+"?"+r.URL.RawQuery)
		body, ok := answers[r.Header.Get("X-Subject-Token")+"?"+r.URL.RawQuery]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(body)) //nolint:errcheck // a test
	}))
	t.Cleanup(server.Close)
	client := &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{}, Endpoint: server.URL + "/v3/"}
	return NewValidator(Options{Identity: fixed(client)}), &asked
}

// A service token lets a user's expired token in (Keystone,
// allow_expired_window), one without the role service does not.
func TestServiceToken(t *testing.T) {
	t.Parallel()
	const late = `{"token":{"expires_at":"2020-01-01T00:00:00Z","user":{"id":"u"},"project":{"id":"p"}}}`
	answers := map[string]string{
		"service?":             `{"token":{"expires_at":"2099-01-01T00:00:00Z","user":{"id":"s"},"roles":[{"name":"service"}]}}`,
		"nobody?":              `{"token":{"expires_at":"2099-01-01T00:00:00Z","user":{"id":"n"},"roles":[{"name":"member"}]}}`,
		"late?allow_expired=1": late,
	}
	v, asked := keystoneOf(t, answers)
	for range 2 {
		if token, err := v.Validate(t.Context(), "late", "service"); err != nil || token.ProjectID != "p" {
			t.Errorf("with a service token: %+v, %v", token, err)
		}
	}
	for _, service := range []string{"", "nobody", "wrong"} {
		if _, err := v.Validate(t.Context(), "late", service); !errors.Is(err, ErrInvalid) {
			t.Errorf("with service token %q: %v", service, err)
		}
	}
	if !slices.Contains(*asked, "late?allow_expired=1") {
		t.Errorf("%v", *asked)
	}
}
