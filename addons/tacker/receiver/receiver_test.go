package receiver

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
)

const token = "0123456789abcdef"

// tacker answers as Tacker's API v1 does about VIMs.
type tacker struct {
	mu    sync.Mutex
	vims  []map[string]any
	asked []string
	fail  bool
}

func (k *tacker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked = append(k.asked, r.Method)
	if k.fail {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	var body struct {
		VIM map[string]any `json:"vim"`
	}
	id := strings.TrimPrefix(r.URL.Path, "/v1.0/vims/")
	at := slices.IndexFunc(k.vims, func(v map[string]any) bool { return v["id"] == id })
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/v1.0/vims":
		found := slices.DeleteFunc(slices.Clone(k.vims), func(v map[string]any) bool { return v["name"] != r.URL.Query().Get("name") })
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"vims": found})
	case r.Method == http.MethodPost && json.NewDecoder(r.Body).Decode(&body) == nil:
		body.VIM["id"] = "id-" + body.VIM["name"].(string)
		k.vims = append(k.vims, body.VIM)
		w.WriteHeader(http.StatusCreated)
	case r.Method == http.MethodPut && at >= 0 && json.NewDecoder(r.Body).Decode(&body) == nil:
		maps.Copy(k.vims[at], body.VIM)
	case r.Method == http.MethodDelete && at >= 0:
		k.vims = slices.Delete(k.vims, at, at+1)
		w.WriteHeader(http.StatusNoContent)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (k *tacker) count(method string) (n int) {
	for _, m := range k.asked {
		if m == method {
			n++
		}
	}
	return n
}

// bench is a receiver in front of a Tacker.
type bench struct {
	*testing.T
	tacker *tacker
	server *Server
	log    bytes.Buffer
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, tacker: &tacker{}}
	front := httptest.NewServer(b.tacker)
	t.Cleanup(front.Close)
	provider := &gophercloud.ProviderClient{EndpointLocator: func(o gophercloud.EndpointOpts) (string, error) {
		if o.Type != ServiceType {
			t.Errorf("looked for service %s", o.Type)
		}
		return front.URL, nil
	}}
	provider.SetToken("keystone-token")
	registry, err := NewTacker(provider, gophercloud.EndpointOpts{}, true)
	if err != nil {
		t.Fatal(err)
	}
	if b.server, err = New(registry, token, slog.New(slog.NewTextHandler(&b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) send(body, bearer string) (int, string) {
	r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, Path, strings.NewReader(body))
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	w := httptest.NewRecorder()
	b.server.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

const (
	created = `{"action": "created", "vnfInstanceId": "i", "clusterName": "shop", "namespace": "ns", "endpoint": "https://192.0.2.1:6443", "bearer_token": "hidden", "ssl_ca_cert": "PEM"}`
	deleted = `{"action": "deleted", "vnfInstanceId": "i", "clusterName": "shop", "namespace": "ns"}`
)

// TestReceiver registers a cluster once, however often it is sent, and deletes it.
//
// proves: T-14
func TestReceiver(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, wrong := range []string{"", "0123456789abcdeg", "0123456789"} {
		if status, _ := b.send(created, wrong); status != http.StatusUnauthorized {
			t.Errorf("with token %q: %d", wrong, status)
		}
	}
	if len(b.tacker.asked) != 0 {
		t.Errorf("Tacker was asked %v without a token", b.tacker.asked)
	}
	var sent sync.WaitGroup
	for range 5 {
		sent.Go(func() {
			if status, text := b.send(created, token); status != http.StatusNoContent {
				t.Errorf("%d %s", status, text)
			}
		})
	}
	sent.Wait()
	if posts := b.tacker.count(http.MethodPost); posts != 1 || len(b.tacker.vims) != 1 {
		t.Fatalf("%d VIMs after %d posts", len(b.tacker.vims), posts)
	}
	v := b.tacker.vims[0]
	access, _ := v["auth_cred"].(map[string]any)
	extra, _ := v["extra"].(map[string]any)
	if v["name"] != "ns-shop" || v["type"] != "kubernetes" || v["auth_url"] != "https://192.0.2.1:6443" || v["is_default"] != false || access["bearer_token"] != "hidden" || access["ssl_ca_cert"] != "PEM" || extra["use_helm"] != true {
		t.Errorf("VIM %v", v)
	}
	if status, _ := b.send(strings.Replace(created, "hidden", "renewed", 1), token); status != http.StatusNoContent || b.tacker.vims[0]["auth_cred"].(map[string]any)["bearer_token"] != "renewed" {
		t.Errorf("a new token: %d, %v", status, b.tacker.vims)
	}
	for range 2 {
		if status, _ := b.send(deleted, token); status != http.StatusNoContent || len(b.tacker.vims) != 0 {
			t.Errorf("deleted: %d, %v", status, b.tacker.vims)
		}
	}
	if b.tacker.count(http.MethodDelete) != 1 {
		t.Errorf("asked %v", b.tacker.asked)
	}
	if log := b.log.String(); strings.Contains(log, "hidden") || strings.Contains(log, "renewed") || strings.Contains(log, token) || !strings.Contains(log, "ns-shop") {
		t.Errorf("log:\n%s", log)
	}
}

// TestTwoClustersOfOneName: the second one is refused, and its deletion leaves the VIM of the
// first one. A VIM of an earlier release, which does not say whose it is, gets a description.
func TestTwoClustersOfOneName(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.tacker.vims = []map[string]any{{"id": "old", "name": "a-b-c", "auth_url": "https://192.0.2.1:6443", "description": "cluster of VNF instance i"}}
	of := func(message, namespace, cluster string) string {
		return strings.NewReplacer(`"ns"`, `"`+namespace+`"`, `"shop"`, `"`+cluster+`"`).Replace(message)
	}
	for _, send := range []struct {
		message, says string
		status, vims  int
	}{
		{of(created, "a-b", "c"), "", http.StatusNoContent, 1},
		{of(created, "a", "b-c"), "VIM a-b-c is that of cluster c in namespace a-b: give one", http.StatusConflict, 1},
		{of(deleted, "a", "b-c"), "", http.StatusNoContent, 1},
		{of(strings.Replace(created, `"i"`, `"j"`, 1), "a-b", "c"), "", http.StatusNoContent, 1},
		{of(deleted, "a-b", "c"), "", http.StatusNoContent, 0},
		{of(created, "a", "b-c"), "", http.StatusNoContent, 1},
	} {
		if status, text := b.send(send.message, token); status != send.status || !strings.Contains(text, send.says) || len(b.tacker.vims) != send.vims {
			t.Errorf("%s: %d %s, VIMs %v", send.message, status, text, b.tacker.vims)
		}
	}
	if got := b.tacker.vims[0]["description"]; got != "cluster b-c in namespace a, of VNF instance i" {
		t.Errorf("described as %v", got)
	}
}

// TestAClusterOfAnotherAddress: Tacker has no way to change the address of a VIM.
func TestAClusterOfAnotherAddress(t *testing.T) {
	t.Parallel()
	k := &tacker{vims: []map[string]any{{"id": "old", "name": "shop", "auth_url": "https://192.0.2.1:6443"}}}
	front := httptest.NewServer(k)
	t.Cleanup(front.Close)
	registry := &Tacker{Client: &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{}, Endpoint: front.URL + "/"}}
	for range 2 {
		if err := registry.Register(t.Context(), VIM{Name: "shop", Endpoint: "https://192.0.2.2:6443", BearerToken: "hidden", Authority: "PEM"}); err != nil {
			t.Fatal(err)
		}
		if len(k.vims) != 1 || k.vims[0]["auth_url"] != "https://192.0.2.2:6443" || k.count(http.MethodDelete) != 1 {
			t.Errorf("VIMs %v after %v", k.vims, k.asked)
		}
	}
}

// TestVIMsOfOthers: an administrator's list has the VIMs of all projects. One of the same name in
// another is neither changed nor deleted.
func TestVIMsOfOthers(t *testing.T) {
	t.Parallel()
	k := &tacker{vims: []map[string]any{{"id": "theirs", "name": "shop", "tenant_id": "theirs", "auth_url": "https://192.0.2.9:6443", "auth_cred": "theirs"}}}
	front := httptest.NewServer(k)
	t.Cleanup(front.Close)
	registry := &Tacker{Client: &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{}, Endpoint: front.URL + "/"}, Project: "ours"}
	if err := registry.Register(t.Context(), VIM{Name: "shop", Endpoint: "https://192.0.2.2:6443", BearerToken: "hidden", Authority: "PEM"}); err != nil {
		t.Fatal(err)
	}
	if len(k.vims) != 2 || k.vims[0]["auth_cred"] != "theirs" || k.vims[1]["auth_url"] != "https://192.0.2.2:6443" {
		t.Errorf("registered: %v after %v", k.vims, k.asked)
	}
	if err := registry.Remove(t.Context(), "shop"); err != nil || len(k.vims) != 1 || k.vims[0]["id"] != "theirs" {
		t.Errorf("removed: %v, %v after %v", err, k.vims, k.asked)
	}
}

// TestMistakes: a wrong message is answered with all that is wrong, and Tacker's refusal
// in a way that the script sends it again.
func TestMistakes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for body, want := range map[string][]string{
		`{"action": "created", "endpoint": "http://x"}`: {"endpoint: this is not an https", "vnfInstanceId: it is missing", "clusterName: it is missing", "namespace: it is missing", "bearer_token: it is missing", "ssl_ca_cert: it is missing"},
		`{"action": "moved"}`:                           {"action: it is neither"},
		`{"other": "hidden"}`:                           {"other"},
		`nonsense`:                                      {"reading the message"},
	} {
		status, text := b.send(body, token)
		for _, one := range want {
			if status != http.StatusBadRequest || !strings.Contains(text, one) {
				t.Errorf("%s: %d %s", body, status, text)
			}
		}
		if strings.Contains(text, "hidden") {
			t.Errorf("a value is repeated: %s", text)
		}
	}
	b.tacker.fail = true
	if status, text := b.send(created, token); status != http.StatusBadGateway || strings.Contains(text, "hidden") {
		t.Errorf("Tacker refuses: %d %s", status, text)
	}
	if _, err := New(nil, "short", nil); err == nil {
		t.Error("a short token is taken")
	}
}
