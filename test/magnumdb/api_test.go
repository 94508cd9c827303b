package magnumdb

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"

	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
	"github.com/slipway-sh/slipway/addons/magnum/moving/rest"
	"github.com/slipway-sh/slipway/internal/fault"
)

// recorded is what the API said to whoever read everything.
const recorded = "../../addons/magnum/moving/rest/testdata/magnum-api.json"

// TestAPI: what the real API shows an administrator, page by page, is what the
// database has, but for what it keeps back.
func TestAPI(t *testing.T) {
	r := start(t)
	s := r.servers()[0]
	s.make("magnum_api", newest)
	proxy := r.serveAPI(s.url("magnum_api"))
	if _, err := rest.Read(t.Context(), proxy.client("admin")); !strings.Contains(fmt.Sprint(err), "coe that it does not know any more") || !strings.Contains(fault.Remedy(err), "--from-database") {
		t.Errorf("with a template of swarm: %v", err)
	}
	r.run("mariadb", "-h127.0.0.1", "-P"+fmt.Sprint(s.port), "-umagnum", "-psecret", "-e", "DELETE FROM magnum_api.cluster_template WHERE coe = 'swarm'")
	if _, err := rest.Read(t.Context(), proxy.client("member")); !strings.Contains(fmt.Sprint(err), "not an administrator") {
		t.Errorf("a member: %v", err)
	}
	proxy.said = map[string]json.RawMessage{}
	shown, err := rest.Read(t.Context(), proxy.client("admin"))
	if err != nil {
		t.Fatal(err)
	}
	want := live(t, s, "magnum_api")
	if len(shown.Clusters) != 7 || len(shown.Templates) != 2 {
		t.Errorf("%d clusters, %d templates", len(shown.Clusters), len(shown.Templates))
	}
	if diff := cmp.Diff(public(want), public(shown)); diff != "" {
		t.Errorf("the database (-) and the API (+) differ:\n%s", diff)
	}
	text, err := json.MarshalIndent(proxy.said, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	keep(t, recorded, string(text)+"\n", func(kept string) {
		if diff := cmp.Diff(kept, string(text)+"\n"); diff != "" {
			t.Errorf("magnum-api answers otherwise than %s says:\n%s", recorded, diff)
		}
	})
}

// public leaves out what the API does not show.
func public(d *database.Database) database.Database {
	p := *d
	p.Revision, p.Releases, p.Partial, p.KeyPairs = "", "", false, nil
	for i := range p.Templates {
		p.Templates[i].ID = 0
	}
	for i := range p.Clusters {
		c := &p.Clusters[i]
		c.ID, c.CARef, c.MagnumRef, c.EtcdRef, c.FrontProxyRef, c.TrustID, c.TrusteeID = 0, "", "", "", "", "", ""
	}
	return p
}

// proxy keeps what the API said.
type proxy struct {
	url  string
	mu   sync.Mutex
	said map[string]json.RawMessage
}

func (p *proxy) client(token string) *gophercloud.ServiceClient {
	provider := &gophercloud.ProviderClient{}
	provider.UseTokenLock()
	provider.SetToken(token)
	return &gophercloud.ServiceClient{ProviderClient: provider, Endpoint: p.url + "/v1/", Type: "container-infra"}
}

// serveAPI starts the real API, with a proxy before it.
func (r *root) serveAPI(database string) *proxy {
	r.t.Helper()
	port := fmt.Sprint(freePort(r.t))
	cmd := r.in("python3", r.script("api.py"), database, shop, port)
	output, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	var said bytes.Buffer // a trace for each template that it does not know
	cmd.Stderr = &said
	r.t.Cleanup(func() {
		if r.t.Failed() {
			r.t.Logf("the API said\n%s", said.String())
		}
	})
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if line, err := bufio.NewReader(output).ReadString('\n'); strings.TrimSpace(line) != "ready" {
		r.t.Fatalf("the API said %q, %v", line, err)
	}
	p := &proxy{said: map[string]json.RawMessage{}}
	target := &url.URL{Scheme: "http", Host: "127.0.0.1:" + port}
	front := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:        func(q *httputil.ProxyRequest) { q.SetURL(target); q.Out.Host = "magnum" },
		ModifyResponse: p.remember,
	})
	r.t.Cleanup(front.Close)
	p.url = front.URL
	return p
}

func (p *proxy) remember(answer *http.Response) error {
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	if answer.StatusCode == http.StatusOK {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.said[answer.Request.URL.RequestURI()] = body
	}
	return nil
}
