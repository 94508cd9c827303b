package lifecycle

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/api"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/worker"
)

func headers(t *testing.T, w *world) {
	d := w.open(t, "66666666", func(_ *worker.Options, a *api.Options) { a.MaxBody = 4096 })
	for path, list := range map[string]string{"/vnflcm/api_versions": "1.3.0", "/vnflcm/v2/api_versions": "2.0.0"} {
		d.do("GET", path, nil, "Version", "", "X-Auth-Token", "").want(200, list, `"uriPrefix":"/vnflcm"`)
		d.do("POST", path, nil).want(405)
	}
	d.do("GET", "vnf_instances", nil, "Version", "").want(400, "'Version' HTTP header missing.")
	d.do("GET", "vnf_instances", nil, "Version", "2").want(400)
	d.do("GET", "vnf_instances", nil, "Version", "1.3.0").want(406)
	d.do("GET", "vnf_instances", nil, "Version", "2.0.0-impl:x").want(200)
	for _, a := range []answer{d.do("GET", "vnf_instances", nil), d.do("GET", "nothing", nil).want(404), d.do("PUT", "vnf_instances", "{}").want(405)} {
		if a.header.Get("Version") != "2.0.0" || a.header.Get("Accept-Ranges") != "none" {
			t.Errorf("%s: %v", a.what, a.header)
		}
	}
	problem := d.do("GET", "vnf_instances/nobody", nil).want(404).document()
	if problem["status"] != float64(404) || problem["title"] == "" || problem["detail"] == "" {
		t.Errorf("problem %v", problem)
	}
	d.do("GET", "vnf_instances", nil, "Accept", "text/html").want(406)
	d.do("GET", "vnf_instances", nil, "Accept", "text/html, application/*").want(200)
	d.do("POST", "vnf_instances", "{}", "Content-Type", "text/html").want(415)
	d.do("POST", "vnf_instances", "{}").want(400, "vnfdId")
	d.do("POST", "vnf_instances", `{"vnfdId": "x", "more": 1}`).want(400, "more")
	d.do("POST", "vnf_instances", "{").want(400)
	d.do("POST", "vnf_instances", object{"vnfdId": strings.Repeat("x", 5000)}).want(413)
	d.do("POST", "vnf_instances", object{"vnfdId": "../../x"}).want(422)
	d.do("GET", "vnf_instances", nil, "X-Auth-Token", "").want(401)
	if a := d.do("GET", "vnf_instances", nil, "X-Auth-Token", "wrong"); a.status != 401 || a.header.Get("WWW-Authenticate") == "" {
		t.Errorf("a wrong token: %d %v", a.status, a.header)
	}
	p := w.onboard(t, build(t, "reader", "1.34.4"))
	d.do("POST", "vnf_instances", object{"vnfdId": p.ID}, "X-Auth-Token", "reader@66666666").want(403, "os_nfv_orchestration_api_v2:vnf_instances:create")
	d.do("GET", "vnf_instances", nil, "X-Auth-Token", "reader@66666666").want(200)
	d.do("GET", "vnf_instances", nil, "X-Auth-Token", "nothing@66666666").want(403)
}

// lists have filters, selectors and pages.
func lists(t *testing.T, w *world) {
	d := w.open(t, "77777777", func(_ *worker.Options, a *api.Options) { a.PageSize = 2 })
	p := w.onboard(t, build(t, "lists", "1.34.4"))
	for n := range 5 {
		d.do("POST", "vnf_instances", object{"vnfdId": p.ID, "vnfInstanceName": fmt.Sprint("shop-", n), "metadata": object{"n": n}}).want(201)
	}
	seen, address := map[string]bool{}, "vnf_instances"
	for pages := 0; address != ""; pages++ {
		a := d.do("GET", address, nil).want(200)
		for _, one := range a.documents() {
			if seen[one["id"].(string)] = true; one["metadata"] != nil || one["_links"] == nil {
				t.Errorf("listed %v", one)
			}
		}
		address = ""
		if link := a.header.Get("Link"); link != "" {
			address, _, _ = strings.Cut(strings.TrimPrefix(link, "<"), ">")
		}
		if pages > 3 {
			t.Fatal("the pages do not end")
		}
	}
	if len(seen) != 5 {
		t.Errorf("%d of 5 on the pages", len(seen))
	}
	found := d.do("GET", "vnf_instances?all_fields&filter=(eq,metadata/n,3);(eq,instantiationState,NOT_INSTANTIATED)", nil).want(200).documents()
	if len(found) != 1 || found[0]["vnfInstanceName"] != "shop-3" || found[0]["metadata"] == nil {
		t.Errorf("found %v", found)
	}
	for _, bad := range []string{"filter=(like,id,x)", "filter=x", "all_fields&fields=id", "nextpage_opaque_marker=x"} {
		d.do("GET", "vnf_instances?"+bad, nil).want(400)
	}
}

// unknownKind: a kind that the API server does not know is an error, and nothing of the
// package is applied.
func unknownKind(t *testing.T, w *world) {
	d := w.open(t, "88888888")
	p := w.onboard(t, build(t, "strange", "1.34.4"), `{"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "one"}}`)
	id := d.create(p.ID)
	op := d.run(id, "instantiate", d.instantiation(p.Deploy), v1alpha1.RolledBack)
	if detail := op["error"].(object)["detail"].(string); !strings.Contains(detail, "Gadget") || !strings.Contains(detail, "example.com/v1") {
		t.Error(detail)
	}
	if d.there("strange") {
		t.Error("something was applied")
	}
	missing := d.instantiation([]string{"Files/kubernetes/none.yaml"})
	op = d.run(id, "instantiate", missing, v1alpha1.RolledBack)
	if detail := op["error"].(object)["detail"].(string); !strings.Contains(detail, "none.yaml") {
		t.Error(detail)
	}
	d.do("DELETE", "vnf_instances/"+id, nil).want(204)
}

// namespaces: objects of the whole cluster, of several namespaces, and of none, which get
// the project's, RBAC too.
func namespaces(t *testing.T, w *world) {
	d := w.open(t, "99999999")
	p := w.onboard(t, build(t, "spread", "1.34.4"),
		`{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "spread-reader", "namespace": "ignored"}, "rules": []}`,
		`{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "spread-role"}, "rules": []}`,
		`{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "spread-binding"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "spread-role"}}`,
		`{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "spread-more"}}`,
		`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "there", "namespace": "spread-more"}}`)
	id := d.create(p.ID)
	body := object{"flavourId": "default", "additionalParams": object{"lcm-kubernetes-def-files": p.Deploy}}
	op := d.run(id, "instantiate", body, v1alpha1.RolledBack) // the package's namespace is not the project's
	if detail := op["error"].(object)["detail"].(string); !strings.Contains(detail, "namespace spread is not the project's") {
		t.Error(detail)
	}
	if _, err := w.kube.Typed.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "spread", Labels: map[string]string{v1alpha1.LabelProject: d.project}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	d.run(id, "instantiate", body, v1alpha1.Completed)
	if _, err := w.kube.Typed.RbacV1().ClusterRoles().Get(t.Context(), "spread-reader", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	for _, find := range []func() (metav1.Object, error){
		func() (metav1.Object, error) {
			return w.kube.Typed.RbacV1().Roles(d.namespace).Get(t.Context(), "spread-role", metav1.GetOptions{})
		},
		func() (metav1.Object, error) {
			return w.kube.Typed.RbacV1().RoleBindings(d.namespace).Get(t.Context(), "spread-binding", metav1.GetOptions{})
		},
		func() (metav1.Object, error) {
			return w.kube.Typed.CoreV1().ConfigMaps("spread-more").Get(t.Context(), "there", metav1.GetOptions{})
		},
	} {
		if o, err := find(); err != nil || o.GetLabels()[v1alpha1.LabelInstance] != id {
			t.Errorf("%v: %v", o, err)
		}
	}
	d.run(id, "terminate", object{"terminationType": "GRACEFUL"}, v1alpha1.Completed)
	if _, err := w.kube.Typed.RbacV1().ClusterRoles().Get(t.Context(), "spread-reader", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("left the ClusterRole: %v", err)
	}
}

// owners: an instance takes nothing over that is another one's, and nothing of anybody.
func owners(t *testing.T, w *world) {
	d := w.open(t, "aaaaaaa1")
	p := w.onboard(t, build(t, "mine", "1.34.4"))
	first, second := d.create(p.ID), d.create(p.ID)
	d.run(first, "instantiate", d.instantiation(p.Deploy), v1alpha1.Completed)
	op := d.run(second, "instantiate", d.instantiation(p.Deploy), v1alpha1.RolledBack)
	if e := op["error"].(object); e["status"] != float64(409) || !strings.Contains(e["detail"].(string), "is not of this instance") {
		t.Errorf("%v", op)
	}
	d.do("DELETE", "vnf_instances/"+second, nil).want(204)
	body := d.instantiation(p.Deploy)
	body["additionalParams"].(object)["namespace"] = "kube-system"
	third := d.create(p.ID)
	op = d.run(third, "instantiate", body, v1alpha1.RolledBack)
	if e := op["error"].(object); e["status"] != float64(403) || !strings.Contains(e["detail"].(string), "kube-system") {
		t.Errorf("%v", op)
	}
	if n, _ := d.replicas(deployments, "mine-workers"); n != 3 {
		t.Errorf("the first one has %d workers", n)
	}
}

// walls: projects see nothing of each other.
func walls(t *testing.T, w *world) {
	d := w.open(t, "bbbbbbb1")
	p := w.onboard(t, build(t, "walls", "1.34.4"))
	id := d.create(p.ID)
	const other = "member@bbbbbbb2"
	d.do("GET", "vnf_instances/"+id, nil, "X-Auth-Token", other).want(404)
	d.do("DELETE", "vnf_instances/"+id, nil, "X-Auth-Token", other).want(404)
	d.do("POST", "vnf_instances/"+id+"/instantiate", d.instantiation(p.Deploy), "X-Auth-Token", other).want(404)
	if all := d.do("GET", "vnf_instances", nil, "X-Auth-Token", other).want(200).documents(); len(all) != 0 {
		t.Errorf("%v", all)
	}
	private := build(t, "private", "1.34.4")
	text, err := private.Zip()
	if err != nil {
		t.Fatal(err)
	}
	o := &v1alpha1.VNFPackage{ObjectMeta: metav1.ObjectMeta{Name: private.ID}, Spec: v1alpha1.VNFPackageSpec{Content: text, Projects: []string{"bbbbbbb2"}}}
	if err := w.client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	d.do("POST", "vnf_instances", object{"vnfdId": private.ID}).want(422, "there is no package")
	d.do("POST", "vnf_instances", object{"vnfdId": private.ID}, "X-Auth-Token", other).want(201)
	if o.Spec.Disabled = true; w.client.Update(t.Context(), o) != nil {
		t.Fatal("disabling the package")
	}
	d.do("POST", "vnf_instances", object{"vnfdId": private.ID}, "X-Auth-Token", other).want(422, "disabled")
}
