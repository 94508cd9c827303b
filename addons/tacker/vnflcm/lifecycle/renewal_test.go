package lifecycle

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
)

// renewal: an instance whose token has ended is not terminated half-way. It gets another token
// as SOL003 has it, none that is refused, and goes with that one's rights.
func renewal(t *testing.T, w *world) {
	d := w.open(t, "eeeeeee2")
	p := w.onboard(t, build(t, "renewed", "1.34.4"))
	id := d.create(p.ID)
	renew := func(connection, token string) answer {
		return d.do("PATCH", "vnf_instances/"+id, object{"vimConnectionInfo": object{connection: object{"accessInfo": object{"bearer_token": token}}}})
	}
	renewed := func(token string) string {
		location := renew("vim1", token).want(202).header.Get("Location")
		return location[strings.LastIndexByte(location, '/')+1:]
	}
	unauthorized := func(op object) {
		t.Helper()
		if e, _ := op["error"].(object); e["status"] != float64(401) || !strings.Contains(e["detail"].(string), "PATCH") {
			t.Errorf("a token that is refused: %v", op)
		}
	}
	renew("vim1", "early-4711").want(400, "NOT_INSTANTIATED")
	token := d.account("cluster-admin")
	body := d.instantiation(p.Deploy)
	body["vimConnectionInfo"] = object{"vim1": object{"vimType": "ETSINFV.KUBERNETES.V_1", "accessInfo": object{"bearer_token": token}}}
	d.run(id, "instantiate", body, v1alpha1.Completed)
	d.spoil("ended-4711")
	newer := d.requests(w.onboard(t, build(t, "renewed", "1.35.0")))
	for verb, body := range map[string]object{"terminate": {"terminationType": "FORCEFUL"}, "scale": d.requests(p)["scale-out-workers"],
		"heal": {"additionalParams": object{"all": true}}, "change_vnfpkg": newer["change"]} {
		unauthorized(d.run(id, verb, body, v1alpha1.RolledBack))
	}
	renew("vim2", token).want(400, "uses vim1")

	wrong := renewed("wrong-4711")
	unauthorized(d.reach(wrong, v1alpha1.FailedTemp))
	d.do("POST", "vnf_lcm_op_occs/"+wrong+"/retry", nil).want(202)
	unauthorized(d.reach(wrong, v1alpha1.FailedTemp))
	d.do("POST", "vnf_lcm_op_occs/"+wrong+"/fail", nil).want(200, "FAILED")
	d.gone(1)
	d.reach(renewed(token), v1alpha1.Completed)
	d.gone(1)
	d.run(id, "terminate", object{"terminationType": "FORCEFUL"}, v1alpha1.Completed)
	d.gone(0)
	d.noSecrets(token, "early-4711", "ended-4711", "wrong-4711")
}

// spoil puts another token into the Secrets of connections.
func (d *door) spoil(token string) {
	d.t.Helper()
	secrets := d.w.kube.Typed.CoreV1().Secrets(d.namespace)
	list, err := secrets.List(d.t.Context(), metav1.ListOptions{})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, s := range list.Items {
		if !strings.HasPrefix(s.Name, "vim-") {
			continue
		}
		s.Data["bearer_token"] = []byte(token)
		if _, err := secrets.Update(d.t.Context(), &s, metav1.UpdateOptions{}); err != nil {
			d.t.Fatal(err)
		}
	}
}
