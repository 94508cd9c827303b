package api

import (
	"net/http"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// TestHeld: what Magnum still manages, or Heat, is read like everything else and
// changed by nobody.
func TestHeld(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	template := b.template()
	uuid := b.cluster(template)
	b.settle(uuid)
	quota := object{"project_id": b.project, "resource": "Cluster", "hard_limit": 3}
	b.do(admin, http.MethodPost, "/quotas", quota).want(201)
	c := &v1alpha1.ClusterList{}
	b.must(b.kube.List(t.Context(), c))
	templates := &v1alpha1.ClusterTemplateList{}
	b.must(b.kube.List(t.Context(), templates))
	quotas := &v1alpha1.QuotaList{}
	b.must(b.kube.List(t.Context(), quotas))
	for _, o := range []client.Object{&c.Items[0], &templates.Items[0], &quotas.Items[0]} {
		o.SetAnnotations(map[string]string{v1alpha1.AnnotationHeld: v1alpha1.HeldByHeat, v1alpha1.AnnotationFormerID: "17", v1alpha1.AnnotationFirstCreatedAt: "2020-02-03T04:05:06Z"})
		b.must(b.kube.Update(t.Context(), o))
	}
	one := clusters + "/" + uuid
	b.await(func() bool {
		return b.do(member, http.MethodGet, one, nil).want(200).str("created_at") == "2020-02-03T04:05:06+00:00"
	})
	b.await(func() bool {
		return b.do(admin, http.MethodGet, "/quotas/"+b.project+"/Cluster", nil).want(200).body["id"] == 17.0
	})
	patch := []object{{"op": "replace", "path": "/node_count", "value": 2}}
	for _, request := range []struct {
		who, method, path string
		body              any
	}{
		{member, http.MethodPatch, one, patch}, {member, http.MethodDelete, one, nil}, {admin, http.MethodDelete, one, nil},
		{member, http.MethodPost, one + "/actions/resize", object{"node_count": 2}}, {member, http.MethodPost, one + "/actions/upgrade", object{"cluster_template": template}},
		{member, http.MethodPost, one + "/nodegroups", object{"name": "gpu"}}, {member, http.MethodDelete, one + "/nodegroups/default-worker", nil},
		{member, http.MethodPatch, "/credentials/" + uuid, nil}, {member, http.MethodPatch, "/certificates/" + uuid, nil},
		{member, http.MethodPatch, "/clustertemplates/" + template, []object{{"op": "replace", "path": "/name", "value": "x"}}},
		{member, http.MethodDelete, "/clustertemplates/" + template, nil},
		{admin, http.MethodPatch, "/quotas/" + b.project + "/Cluster", quota}, {admin, http.MethodDelete, "/quotas/" + b.project + "/Cluster", nil},
	} {
		if a := b.do(request.who, request.method, request.path, request.body).want(409); !strings.Contains(a.text, "Heat driver") {
			t.Errorf("%s %s: %s", request.method, request.path, a.text)
		}
	}
	b.authorities(uuid)
	b.do(member, http.MethodGet, "/certificates/"+uuid, nil).want(200)
	b.do(member, http.MethodPost, "/certificates", object{"cluster_uuid": uuid, "csr": b.csr(b.ecKey(), 0)}).want(201)
	b.do(alien, http.MethodDelete, one, nil).want(404)
	b.do(reader, http.MethodDelete, one, nil).want(403)
}
