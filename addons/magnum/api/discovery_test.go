package api

import (
	"net/http"
	"strings"
	"testing"
)

// proves: M-D1, M-D2, M-D11, M-D18
func TestDiscoveryWithoutToken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	root := b.do(nobody, http.MethodGet, "/", nil).want(200)
	version := root.list("versions")[0]
	if version["id"] != "v1" || version["status"] != "CURRENT" || version["min_version"] != "1.1" || version["max_version"] != "1.14" {
		t.Errorf("root %v", version)
	}
	if root.header.Get("OpenStack-API-Version") != "" {
		t.Error("the root has version headers")
	}
	for _, path := range []string{"/v1", "/v1/", "/v1.json"} {
		v1 := b.with("").do(nobody, http.MethodGet, path, nil).want(200).is("id", "v1")
		for _, name := range strings.Fields("media_types links clustertemplates clusters quotas certificates mservices stats federations credentials nodegroups") {
			if len(v1.list(name)) == 0 {
				t.Errorf("%s has no %s", path, name)
			}
		}
		if v1.get("bays") != nil || v1.header.Get("OpenStack-API-Version") != "container-infrastructure-management 1.1" {
			t.Errorf("%s: %v %v", path, v1.body, v1.header)
		}
		if links := v1.list("nodegroups"); links[0]["href"] != b.address+"/v1/clusters/{cluster_id}/nodegroups" || links[1]["href"] != b.address+"/clusters/{cluster_id}/nodegroups" {
			t.Errorf("links %v", links)
		}
	}
	if health := b.do(nobody, http.MethodGet, "/healthcheck", nil).want(200); health.text != "OK" {
		t.Errorf("health %q", health.text)
	}
	for _, path := range []string{"/", "/v1", "/healthcheck", "/v1/clusters", "/v1/nothing"} {
		if id := b.do(member, http.MethodGet, path, nil).header.Get("X-Openstack-Request-Id"); !strings.HasPrefix(id, "req-") || len(id) != 40 {
			t.Errorf("%s: request id %q", path, id)
		}
	}
}

// proves: M-D3, M-D4, M-D5, M-D6, M-D7, M-D8, M-D9, M-D10
func TestMicroversions(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	refused := b.do(nobody, http.MethodGet, "/v1/clusters", nil).want(401)
	if refused.header.Get("WWW-Authenticate") != `Keystone uri="`+b.cloud.URL()+`/identity"` {
		t.Errorf("%v", refused.header)
	}
	b.do(nobody, http.MethodGet, "/v1/clusters", nil, "X-Auth-Token", "wrong").want(401)
	const name = "OpenStack-API-Version"
	for asked, effective := range map[string]string{"": "1.1", "container-infra latest": "1.14", "container-infra LATEST": "1.14", "any latest": "1.14",
		"container-infrastructure-management 1.9": "1.9", "container-infrastructure 1.14": "1.14", "container-infra 1.2": "1.2"} {
		a := b.with("").do(member, http.MethodGet, "/v1/clusters", nil, name, asked).want(200)
		if a.header.Get(name) != serviceWord+" "+effective || a.header.Get("OpenStack-API-Minimum-Version") != serviceWord+" 1.1" ||
			a.header.Get("OpenStack-API-Maximum-Version") != serviceWord+" 1.14" || a.header.Get("Vary") != name {
			t.Errorf("%q: %v", asked, a.header)
		}
	}
	for _, asked := range []string{"1.15", "1.0", "2.1"} {
		a := b.with(asked).do(member, http.MethodGet, "/v1/clusters", nil).want(406).says("Version " + asked + " is not supported. The service has versions 1.1 to 1.14.")
		e := a.list("errors")[0]
		if e["code"] != "magnum.microversion-unsupported" || e["min_version"] != "1.1" || e["max_version"] != "1.14" || e["title"] == nil || e["status"] != nil {
			t.Errorf("%s: %v", asked, e)
		}
		if a.header.Get("OpenStack-API-Minimum-Version") == "" {
			t.Errorf("%s: no headers", asked)
		}
	}
	for _, asked := range []string{"container-infra", "nova 1.1", "container-infra 1", "container-infra a.b", "container-infra 1.-2", "container-infra 1.1 x"} {
		a := b.with("").do(member, http.MethodGet, "/v1/clusters", nil, name, asked).want(406)
		if e := a.list("errors")[0]; e["code"] != "" || a.header.Get(name) != "" {
			t.Errorf("%s: %v %v", asked, e, a.header)
		}
	}
}

// proves: M-D12, M-D13, M-D14, M-D15, M-D16, M-D17, M-D19
func TestTransport(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, path := range []string{"/v1/nothing", "/v1/bays", "/v1/baymodels", "/nothing", "/v1/clusters/a/b/c/d"} {
		e := b.do(member, http.MethodGet, path, nil).want(404).list("errors")[0]
		if e["code"] != "" || e["status"] != 404.0 || e["request_id"] == "" {
			t.Errorf("%s: %v", path, e)
		}
	}
	b.do(member, http.MethodPut, "/v1/clusters", nil).want(405)
	b.do(member, http.MethodPost, "/v1", nil).want(405)
	b.do(member, http.MethodPost, "/v1/clusters", "x", "Content-Type", "text/plain").want(415)
	b.do(member, http.MethodPost, "/v1/clusters", "{").want(400)
	b.do(member, http.MethodPost, "/v1/clusters", "{} {}").want(400)
	b.do(member, http.MethodPost, "/v1/clusters", "[]").want(400)
	b.do(member, http.MethodGet, "/v1/clusters?foo=1", nil).want(400).says("foo")
	template := b.template()
	for _, path := range []string{"/clusters", "/v1/clusters/", "/v1/clusters", "/clusters/", "//v1//clusters"} {
		b.do(member, http.MethodGet, path, nil).want(200).list("clusters")
	}
	b.do(member, http.MethodGet, "/clustertemplates/"+template+"/", nil).want(200).is("uuid", template)
	b.do(member, http.MethodDelete, "/v1/clustertemplates/"+template, nil, "Content-Type", "application/octet-stream").want(204)
	if large := b.do(member, http.MethodPost, "/v1/clusters", `{"name":"`+strings.Repeat("x", 200<<10)+`"}`); large.status != 413 {
		t.Errorf("a large body: %d", large.status)
	}
}

// proves: M-D20, M-D21, M-D22, M-D23
func TestGatedOperations(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	template, cluster := b.ready()
	groups, group := "/v1/clusters/"+cluster+"/nodegroups", "/v1/clusters/"+cluster+"/nodegroups/default-worker"
	for _, o := range [][2]string{{"GET", groups}, {"POST", groups}, {"GET", group}, {"PATCH", group}, {"DELETE", group}} {
		b.with("1.8").do(member, o[0], o[1], nil).want(406).says("magnum.microversion-unsupported").says("Version 1.8 does not have this request: ask for version 1.9 or later.")
	}
	b.with("1.9").do(member, http.MethodGet, groups, nil).want(200)
	resize, upgrade := "/v1/clusters/"+cluster+"/actions/resize", "/v1/clusters/"+cluster+"/actions/upgrade"
	b.with("1.6").do(member, http.MethodPost, resize, object{"node_count": 2}).want(406)
	b.with("1.7").do(member, http.MethodPost, resize, object{"node_count": 2}).want(202)
	b.settle(cluster)
	b.with("1.6").do(member, http.MethodPost, upgrade, object{"cluster_template": template}).want(406)
	b.with("1.7").do(member, http.MethodPost, upgrade, object{"cluster_template": template}).want(400)
	b.with("1.8").do(member, http.MethodPost, upgrade, object{"cluster_template": template}).want(202)
	b.with("1.11").do(member, http.MethodPatch, "/v1/credentials/"+cluster, nil).want(406)
}
