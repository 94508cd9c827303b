package lifecycle

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
)

// renewal: an instance whose token has ended is not terminated half-way. It gets another token
// as SOL003 has it, and goes with that one's rights.
func renewal(t *testing.T, w *world) {
	d := w.open(t, "eeeeeee2")
	p := w.onboard(t, build(t, "renewed", "1.34.4"))
	id := d.create(p.ID)
	renew := func(connection, token string) answer {
		return d.do("PATCH", "vnf_instances/"+id, object{"vimConnectionInfo": object{connection: object{"accessInfo": object{"bearer_token": token}}}})
	}
	renew("vim1", "early-4711").want(409, "not instantiated")
	token := d.account("cluster-admin")
	body := d.instantiation(p.Deploy)
	body["vimConnectionInfo"] = object{"vim1": object{"vimType": "ETSINFV.KUBERNETES.V_1", "accessInfo": object{"bearer_token": token}}}
	d.run(id, "instantiate", body, v1alpha1.Completed)
	d.spoil("ended-4711")
	op := d.run(id, "terminate", object{"terminationType": "FORCEFUL"}, v1alpha1.RolledBack)
	if e := op["error"].(object); e["status"] != float64(401) || !strings.Contains(e["detail"].(string), "PATCH") {
		t.Errorf("a token that has ended: %v", e)
	}
	renew("vim2", token).want(400, "uses vim1")
	for other, state := range map[string]v1alpha1.OperationState{"wrong-4711": v1alpha1.RolledBack, token: v1alpha1.Completed} {
		location := renew("vim1", other).want(202).header.Get("Location")
		d.reach(location[strings.LastIndexByte(location, '/')+1:], state)
		d.gone(1)
	}
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
