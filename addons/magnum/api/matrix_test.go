package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// rights is what one operation answers to admin, member, reader and a member of
// another project. Without a token everything is 401.
type rights struct {
	method, path                 string
	body                         any
	admin, member, reader, alien int
}

// TestPolicyMatrix asks for every route as every caller. Operations that change
// something are asked for by those who may not first, so that the object is
// there for those who may.
func TestPolicyMatrix(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	template, uuid := b.ready()
	b.authorities(uuid)
	csr := b.csr(b.ecKey(), 0)
	cluster, templatePath := clusters+"/"+uuid, templates+"/"+template
	group := cluster + "/nodegroups/default-worker"
	noPatch, quota := []object{}, "/v1/quotas/"+b.project+"/Cluster"
	bad := object{"bogus": 1} // who may do it is told of the mistake: 400
	matrix := []rights{
		{"GET", "/v1/clusters", nil, 200, 200, 200, 200},
		{"GET", "/v1/clusters/detail", nil, 200, 200, 200, 200},
		{"GET", cluster, nil, 200, 200, 200, 404},
		{"POST", "/v1/clusters", object{"cluster_template_id": template, "keypair": "none"}, 404, 404, 403, 404},
		{"PATCH", cluster, noPatch, 202, 202, 403, 404},
		{"DELETE", clusters + "/" + unknown(), nil, 404, 404, 404, 404},
		{"POST", cluster + "/actions/resize", object{"node_count": 1}, 202, 202, 403, 404},
		{"POST", cluster + "/actions/upgrade", object{"cluster_template": "nothing"}, 404, 404, 403, 404},
		{"GET", "/v1/clustertemplates", nil, 200, 200, 200, 200},
		{"GET", "/v1/clustertemplates/detail", nil, 200, 200, 200, 200},
		{"GET", templatePath, nil, 200, 200, 200, 404},
		{"POST", "/v1/clustertemplates", templateBody().over("flavor_id", "none"), 400, 400, 403, 400},
		{"PATCH", templatePath, noPatch, 200, 200, 403, 404},
		{"DELETE", templatePath, nil, 400, 400, 403, 404},
		{"GET", cluster + "/nodegroups", nil, 200, 200, 200, 404},
		{"POST", cluster + "/nodegroups", object{"name": "default-worker"}, 409, 409, 403, 404},
		{"GET", group, nil, 200, 200, 200, 404},
		{"PATCH", group, noPatch, 202, 202, 403, 404},
		{"DELETE", group, nil, 400, 400, 403, 404},
		{"GET", "/v1/certificates/" + uuid, nil, 200, 200, 200, 404},
		{"GET", "/v1/certificates/" + uuid + "/etcd", nil, 200, 200, 200, 404},
		{"POST", "/v1/certificates", object{"cluster_uuid": uuid, "csr": csr}, 201, 201, 403, 400},
		{"PATCH", "/v1/certificates/" + uuid, nil, 400, 400, 403, 404},
		{"PATCH", "/v1/credentials/" + uuid, nil, 403, 202, 403, 404},
		{"GET", "/v1/quotas", nil, 200, 403, 403, 403},
		{"GET", quota, nil, 200, 200, 200, 403},
		{"POST", "/v1/quotas", object{}, 400, 403, 403, 403},
		{"PATCH", "/v1/quotas", object{}, 404, 403, 403, 403},
		{"PATCH", quota, object{}, 404, 403, 403, 403},
		{"DELETE", quota, nil, 404, 403, 403, 403},
		{"GET", "/v1/stats", nil, 200, 200, 200, 200},
		{"GET", "/v1/stats?project_id=" + b.project, nil, 200, 200, 200, 403},
		{"GET", "/v1/mservices", nil, 200, 403, 403, 403},
		{"GET", "/v1/federations", nil, 200, 200, 200, 200},
		{"GET", "/v1/federations/detail", nil, 200, 200, 200, 200},
		{"GET", "/v1/federations/x", nil, 404, 404, 404, 404},
		{"POST", "/v1/federations", bad, 501, 501, 403, 501},
		{"PATCH", "/v1/federations/x", noPatch, 404, 404, 403, 404},
		{"DELETE", "/v1/federations/x", nil, 404, 404, 403, 404},
	}
	for _, m := range matrix {
		what := m.method + " " + m.path
		if a := b.do(nobody, m.method, m.path, m.body); a.status != 401 {
			t.Errorf("%s without a token: %d", what, a.status)
		}
		for who, want := range map[string]int{alien: m.alien, reader: m.reader} {
			if a := b.do(who, m.method, m.path, m.body); a.status != want {
				t.Errorf("%s as %s: %d, want %d: %s", what, who, a.status, want, a.text)
			}
		}
		if a := b.do(member, m.method, m.path, m.body); a.status != m.member {
			t.Errorf("%s as member: %d, want %d: %s", what, a.status, m.member, a.text)
		}
		if b.view(uuid).Phase().InProgress() {
			b.settle(uuid)
		}
		if a := b.do(admin, m.method, m.path, m.body); a.status != m.admin {
			t.Errorf("%s as admin: %d, want %d: %s", what, a.status, m.admin, a.text)
		}
	}
	b.covers(matrix)
}

// covers fails for routes that the matrix forgot.
func (b *bench) covers(matrix []rights) {
	b.t.Helper()
	asked := map[string]bool{}
	for _, m := range matrix {
		path, _, _ := strings.Cut(m.path, "?")
		r, err := http.NewRequestWithContext(b.t.Context(), m.method, path, nil)
		b.must(err)
		_, pattern := b.server.mux.Handler(r)
		asked[m.method+" "+pattern] = true
	}
	for _, r := range allRoutes() {
		if key := fmt.Sprintf("%s /v1/%s", r.method, r.pattern); !asked[key] {
			b.t.Errorf("the matrix has no %s", key)
		}
	}
}

// A token without a project is refused, whatever its roles.
func TestSystemToken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.logins["system"] = b.cloud.Login(t, systemScope(b))
	b.do("system", http.MethodGet, "/v1/clusters", nil).want(403).says("scoped to a project")
}
