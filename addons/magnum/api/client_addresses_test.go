package api

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	gtemplates "github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/clustertemplates"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// tempestList lists templates by Tempest's client and follows the links, which
// must be of the address that the catalog has.
const tempestList = `
import json, sys
from tempest.lib import auth
from magnum_tempest_plugin.common import config
from magnum_tempest_plugin.tests.api.v1.clients import cluster_template_client
url, region = sys.argv[1:]
config.Config.region = region
credentials = auth.KeystoneV3Credentials(username="member", password="secret", project_name="shop", user_domain_id="default", project_domain_id="default")
client = cluster_template_client.ClusterTemplateClient(auth.KeystoneV3AuthProvider(credentials, url))
resp, model = client.list_cluster_templates()
names, path = [], "/clustertemplates?limit=1"
while path:
    resp, body = client.get(path)
    page = json.loads(body)
    names += [t["name"] for t in page["clustertemplates"]]
    path = page.get("next")
    if path:
        base = client.base_url.rstrip("/")
        base = base if base.endswith("/v1") else base + "/v1"
        assert path.startswith(base + "/"), (path, base)
        path = path[len(base):]
print(json.dumps({"first": [t["name"] for t in model.clustertemplates], "all": names}))
`

// place is an address of the API in the catalog, of a region of its own.
type place struct{ region, url string }

// atPlaces puts the API behind TLS at all the addresses that a cloud may give it,
// and returns them with a file of the certificates that they are trusted by.
func (b *bench) atPlaces() (list []place, trust string, transport *http.Transport) {
	b.t.Helper()
	plain := httptest.NewTLSServer(b.server)
	b.t.Cleanup(plain.Close)
	// A proxy that leaves the prefix to the server.
	var prefixed *Server
	passed := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { prefixed.ServeHTTP(w, r) }))
	b.t.Cleanup(passed.Close)
	o := b.server.o
	o.PublicEndpoint = passed.URL + "/container-infra/v1"
	var err error
	prefixed, err = New(o)
	b.must(err)
	// A proxy that cuts the prefix off and says so.
	inner := httptest.NewServer(b.server)
	b.t.Cleanup(inner.Close)
	target, err := url.Parse(inner.URL)
	b.must(err)
	cut := httptest.NewTLSServer(http.StripPrefix("/container-infra", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.SetXForwarded()
		r.Out.Header.Set("X-Forwarded-Prefix", "/container-infra")
	}}))
	b.t.Cleanup(cut.Close)
	pool, text := x509.NewCertPool(), []byte(nil)
	for _, s := range []*httptest.Server{plain, passed, cut} {
		pool.AddCert(s.Certificate())
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})...)
	}
	trust = filepath.Join(b.t.TempDir(), "trust.pem")
	b.must(os.WriteFile(trust, text, 0o600))
	return []place{{"root", plain.URL}, {"version", plain.URL + "/v1"}, {"prefix", passed.URL + "/container-infra/v1"}, {"cut", cut.URL + "/container-infra/v1"}},
		trust, &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
}

// TestOpenStackClientAddresses has the API at each form of address that catalogs
// have, and lets every client list by pages of one, which follow the links.
//
// proves: M-F15
func TestOpenStackClientAddresses(t *testing.T) {
	t.Parallel()
	c := newCLI(t, func(o *Options) { o.TrustForwarded, o.MaxLimit = true, 1 })
	list, trust, transport := c.atPlaces()
	identity := c.cloud.Admin.Identity(t)
	service, err := services.Create(t.Context(), identity, services.CreateOpts{Type: "container-infra", Extra: map[string]any{"name": "magnum"}}).Extract()
	c.must(err)
	for _, p := range list {
		_, err = endpoints.Create(t.Context(), identity, endpoints.CreateOpts{Availability: gophercloud.AvailabilityPublic, Name: "magnum", Region: p.region, URL: p.url, ServiceID: service.ID}).Extract()
		c.must(err)
	}
	want := []string{"first", "second", "third"}
	for _, name := range want {
		c.template("name", name)
	}
	login := c.cloud.Login(t, sandboxtest.User(member, "secret", "shop")) // for the new catalog
	login.Provider.HTTPClient.Transport = transport
	for _, p := range list {
		c.env = []string{"OS_REGION_NAME=" + p.region, "OS_CACERT=" + trust}
		var names []string
		for _, row := range c.rows("coe", "cluster", "template", "list", "--limit", "3") {
			names = append(names, row["name"].(string))
		}
		if !slices.Equal(names, want) {
			t.Errorf("magnumclient at %s: %v", p.url, names)
		}
		client, err := openstack.NewContainerInfraV1(login.Provider, gophercloud.EndpointOpts{Region: p.region})
		c.must(err)
		pages, err := gtemplates.List(client, gtemplates.ListOpts{Limit: 1}).AllPages(t.Context())
		c.must(err)
		templates, err := gtemplates.ExtractClusterTemplates(pages)
		c.must(err)
		if names = nil; len(templates) == len(want) {
			names = []string{templates[0].Name, templates[1].Name, templates[2].Name}
		}
		if !slices.Equal(names, want) {
			t.Errorf("gophercloud at %s: %d templates, %v", p.url, len(templates), names)
		}
		out, err := c.start("/usr/bin/python3", "-c", tempestList, c.cloud.URL()+"/identity/v3", p.region)
		if err != nil || strings.TrimSpace(out) != `{"first": ["first"], "all": ["first", "second", "third"]}` {
			t.Errorf("Tempest at %s: %v\n%s", p.url, err, out)
		}
	}
}
