package lifecycle

import (
	"encoding/json"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
)

// noSecrets looks for secrets in every reply, in the log, and in the resources.
func (d *door) noSecrets(secrets ...string) {
	d.t.Helper()
	places := map[string]string{"a reply": d.replies.String(), "the log": d.log.String()}
	for _, kind := range []string{"vnfinstances", "vnfoperations", "vnfsubscriptions"} {
		list, err := d.w.kube.Dynamic.Resource(schema.GroupVersionResource{Group: v1alpha1.Group, Version: "v1alpha1", Resource: kind}).Namespace(d.namespace).List(d.t.Context(), metav1.ListOptions{})
		if err != nil {
			d.t.Fatal(err)
		}
		text, err := json.Marshal(list)
		if err != nil {
			d.t.Fatal(err)
		}
		places[kind] = string(text)
	}
	for place, text := range places {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				d.t.Errorf("%s shows %s", place, secret)
			}
		}
	}
}

// account makes an account in the project's namespace and returns a token of it.
func (d *door) account(role string) string {
	d.t.Helper()
	typed := d.w.kube.Typed
	if _, err := typed.CoreV1().ServiceAccounts(d.namespace).Create(d.t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "nfv"}}, metav1.CreateOptions{}); err != nil {
		d.t.Fatal(err)
	}
	if _, err := typed.RbacV1().RoleBindings(d.namespace).Create(d.t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "nfv"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "nfv", Namespace: d.namespace}}}, metav1.CreateOptions{}); err != nil {
		d.t.Fatal(err)
	}
	made, err := typed.CoreV1().ServiceAccounts(d.namespace).CreateToken(d.t.Context(), "nfv", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		d.t.Fatal(err)
	}
	return made.Status.Token
}

// secrets of a connection are used and kept, and shown nowhere. The token's rights are
// those with which the package is applied.
func secrets(t *testing.T, w *world) {
	d := w.open(t, "eeeeeee1")
	p := w.onboard(t, build(t, "secret", "1.34.4"))
	id := d.create(p.ID)
	token := d.account("view")
	body := d.instantiation(p.Deploy)
	vim := object{"vimType": "ETSINFV.KUBERNETES.V_1", "vimId": "here", "interfaceInfo": object{"endpoint": w.server.Config.Host},
		"accessInfo": object{"bearer_token": token, "password": "pass-4711", "client_secret": "client-4711", "username": "shown"}}
	body["vimConnectionInfo"] = object{"vim1": vim}
	body["additionalParams"].(object)["deep"] = []any{object{"password": "deep-4711"}}
	op := d.run(id, "instantiate", body, v1alpha1.RolledBack)
	if detail := op["error"].(object)["detail"].(string); !strings.Contains(detail, "forbidden") {
		t.Errorf("a token that may only look: %s", detail)
	}
	d.gone(0)
	if _, err := w.kube.Typed.RbacV1().RoleBindings(d.namespace).Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "nfv-all"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "nfv", Namespace: d.namespace}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	d.run(id, "instantiate", body, v1alpha1.Completed)
	d.gone(1)
	shown := d.do("GET", "vnf_instances/"+id, nil).want(200, "shown").document()
	if shown["vimConnectionInfo"].(object)["vim1"].(object)["vimId"] != "here" {
		t.Errorf("%v", shown)
	}
	d.do("GET", "vnf_instances?all_fields", nil).want(200)
	d.do("GET", "vnf_lcm_op_occs?all_fields", nil).want(200, "lcm-kubernetes-def-files")
	d.run(id, "terminate", object{"terminationType": "FORCEFUL"}, v1alpha1.Completed)
	d.gone(0)
	d.noSecrets(token, "pass-4711", "client-4711", "deep-4711")
	vim["accessInfo"] = object{"username": "u", "password": "pass-4711"}
	op = d.run(id, "instantiate", body, v1alpha1.RolledBack)
	if detail := op["error"].(object)["detail"].(string); !strings.Contains(detail, "no bearer_token") {
		t.Error(detail)
	}
	vim["vimId"] = "elsewhere"
	d.do("POST", "vnf_instances/"+id+"/instantiate", body).want(404, "no VIM elsewhere")
	delete(vim, "vimId")
	vim["interfaceInfo"] = object{"endpoint": "https://169.254.169.254"}
	delete(vim, "accessInfo")
	op = d.run(id, "instantiate", body, v1alpha1.RolledBack)
	if detail := op["error"].(object)["detail"].(string); !strings.Contains(detail, "leave it out") {
		t.Error(detail)
	}
}

// gone counts the Secrets of connections.
func (d *door) gone(want int) {
	d.t.Helper()
	list, err := d.w.kube.Typed.CoreV1().Secrets(d.namespace).List(d.t.Context(), metav1.ListOptions{})
	if err != nil {
		d.t.Fatal(err)
	}
	n := 0
	for _, s := range list.Items {
		if strings.HasPrefix(s.Name, "vim-") {
			n++
		}
	}
	if n != want {
		d.t.Errorf("%d Secrets of connections, want %d", n, want)
	}
}
