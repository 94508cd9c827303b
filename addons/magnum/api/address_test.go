package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// Whatever a tenant writes that is an address, or could be one, no server of
// ours asks for it: it is for machines, or it is refused.
func TestNoRequestGoesWhereATenantPoints(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *Options) { o.TrustForwarded = true })
	var asked atomic.Int32
	trap := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(trap.Close)
	host := strings.TrimPrefix(trap.URL, "http://")
	labels := object{}
	for _, name := range strings.Fields(knownLabels) {
		labels[name] = trap.URL
	}
	delete(labels, "min_node_count")
	delete(labels, "max_node_count")
	over := []any{"http_proxy", trap.URL, "https_proxy", trap.URL, "no_proxy", host, "insecure_registry", host, "labels", labels}
	template := b.do(member, http.MethodPost, templates, templateBody().over(over...)).want(201).str("uuid")
	uuid := b.cluster(template, "discovery_url", trap.URL+"/discover")
	for _, name := range []string{"image_id", "flavor_id", "master_flavor_id", "external_network_id", "fixed_network", "fixed_subnet", "keypair_id"} {
		b.do(member, http.MethodPost, templates, templateBody().over(name, trap.URL+"/"+name))
	}
	for _, name := range []string{"keypair", "flavor_id", "master_flavor_id", "fixed_network", "fixed_subnet"} {
		if a := b.do(member, http.MethodPost, clusters, object{"cluster_template_id": template, name: trap.URL + "/" + name}); a.status < 400 {
			t.Errorf("%s: %d %s", name, a.status, a.text)
		}
	}
	forwarded := []string{"X-Forwarded-Host", host, "X-Forwarded-Proto", "http", "Forwarded", "host=" + host, "X-Forwarded-Prefix", "/x", "Referer", trap.URL, "Origin", trap.URL}
	b.do(member, http.MethodGet, clusters+"/"+uuid, nil, forwarded...).want(200)
	b.do(member, http.MethodPatch, clusters+"/"+uuid, []object{patchOp("replace", "/node_count", 2)}, forwarded...)
	if n := asked.Load(); n > 0 {
		t.Errorf("%d requests went where the tenant points", n)
	}
}

// What becomes a line of a file on machines is one line.
func TestLinesOfFilesAreLines(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, name := range []string{"http_proxy", "https_proxy", "no_proxy", "insecure_registry"} {
		b.do(member, http.MethodPost, templates, templateBody().over(name, "x\nrun: pwned")).want(400).says("control characters")
		b.do(member, http.MethodPatch, templates+"/"+b.template("name", "t-"+strings.ReplaceAll(name, "_", "-")), []object{patchOp("replace", "/"+name, "x\rpwned")}).want(400).says("control characters")
	}
}
