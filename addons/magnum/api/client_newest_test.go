package api

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// journal has what a server was asked, as "METHOD path version".
type journal struct {
	mu    sync.Mutex
	asked []string
}

// listen puts a journal in front of the bench's server.
func (b *bench) listen() *journal {
	b.t.Helper()
	j := &journal{}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		j.mu.Lock()
		j.asked = append(j.asked, r.Method+" "+r.URL.Path+" "+r.Header.Get("OpenStack-API-Version"))
		j.mu.Unlock()
		b.server.ServeHTTP(w, r)
	}))
	b.t.Cleanup(front.Close)
	b.address = front.URL
	return j
}

// during is what was asked while f ran.
func (j *journal) during(f func()) []string {
	j.mu.Lock()
	before := len(j.asked)
	j.mu.Unlock()
	f()
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.asked[before:])
}

// TestOpenStackClientNewest does what Debian's stable client cannot: that one has
// a certificate signed for a configuration that does not use it, and knows no
// microversion but the latest. SLIPWAY_MAGNUMCLIENT names the folder with the
// modules of a magnumclient of 5.0 or newer, which the stable command then uses.
//
// proves: M-F4, M-F8
func TestOpenStackClientNewest(t *testing.T) {
	t.Parallel()
	modules := os.Getenv("SLIPWAY_MAGNUMCLIENT")
	if modules == "" {
		t.Skip("set SLIPWAY_MAGNUMCLIENT to the folder of a newer magnumclient, as make e2e does")
	}
	c := newCLI(t)
	c.env = []string{"PYTHONPATH=" + modules}
	asked := c.listen()
	c.infra(member, "/v1", "")
	_, uuid := c.ready()
	ca := string(c.authorities(uuid)["ca"])
	signs := func(requests []string) bool {
		return slices.ContainsFunc(requests, func(r string) bool { return strings.HasPrefix(r, "POST /v1/certificates") })
	}
	config := func(args ...string) (string, []string) {
		dir := t.TempDir()
		requests := asked.during(func() { c.run(append([]string{"coe", "cluster", "config", "shop-prod", "--dir", dir}, args...)...) })
		text, err := os.ReadFile(filepath.Join(dir, "config"))
		c.must(err)
		return string(text), requests
	}
	if text, requests := config(); !signs(requests) || !strings.Contains(text, "client-certificate-data") {
		t.Errorf("with a certificate: %v\n%s", requests, text)
	}
	text, requests := config("--use-keystone")
	if len(requests) == 0 || signs(requests) {
		t.Errorf("with Keystone's token it asks %v", requests)
	}
	if !strings.Contains(text, "openstackuser") || !strings.Contains(text, "https://203.0.113.20:6443") || strings.Contains(text, "client-key-data") {
		t.Errorf("with Keystone's token:\n%s", text)
	}
	if shown := c.run("coe", "ca", "show", "shop-prod"); strings.TrimSpace(shown) != strings.TrimSpace(ca) {
		t.Errorf("CA %s", shown)
	}
	stack := c.view(uuid).Cluster.Stack()
	for version, header := range map[string]string{"1.12": "container-infra 1.12", "1.13": "container-infra 1.13", "1": "container-infra latest"} {
		var shown map[string]any
		requests := asked.during(func() {
			shown = c.show("--os-container-infra-api-version", version, "coe", "cluster", "show", "shop-prod")
		})
		if len(requests) == 0 || slices.ContainsFunc(requests, func(r string) bool { return !strings.HasSuffix(r, " "+header) }) {
			t.Errorf("at %s it asks %v", version, requests)
		}
		if shown["uuid"] != uuid {
			t.Errorf("at %s %v", version, shown)
		}
	}
	// The client fills cluster_id from stack_id; its command of 5.0.0 shows what
	// was there before, so its library is asked.
	for _, version := range []string{"1.12", "1.13"} {
		if seen := c.at(version, "shop-prod"); seen["cluster_id"] != stack {
			t.Errorf("at %s cluster_id is %v, want %s", version, seen["cluster_id"], stack)
		}
	}
	c.with("1.12").do(member, http.MethodGet, clusters+"/"+uuid, nil).want(200).is("stack_id", stack).is("cluster_id", nil)
}
