package lifecycle

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/controllers"
	"github.com/slipway-sh/slipway/addons/tacker/csar"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

// limited is the world as the endpoint sees it with the rights of the chart alone.
func (w *world) limited(t *testing.T) *world {
	t.Helper()
	all, err := controllers.Objects(controllers.Options{Values: map[string]any{"vnflcm": map[string]any{"enabled": true, "publicEndpoint": "https://nfv.example:9890"}}})
	if err != nil {
		t.Fatal(err)
	}
	all = slices.DeleteFunc(all, func(o *unstructured.Unstructured) bool {
		return o.GetName() != controllers.VNFLCMName || !slices.Contains([]string{"ClusterRole", "ClusterRoleBinding"}, o.GetKind())
	})
	if len(all) != 2 {
		t.Fatalf("the chart has %d of role and binding", len(all))
	}
	if err := w.kube.ApplyObjects(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	config := rest.CopyConfig(w.server.Config)
	config.Impersonate.UserName = "system:serviceaccount:" + controllers.VNFLCMNamespace + ":" + controllers.VNFLCMName
	config.Impersonate.Groups = []string{"system:authenticated", "system:serviceaccounts"}
	l := &world{server: &kubetest.Server{Config: config}, kube: w.kube}
	if l.client, err = client.New(config, client.Options{Scheme: scheme(t)}); err != nil {
		t.Fatal(err)
	}
	return l
}

// rights: with those of the chart, packages of both variants live their whole life; and what no rule names is refused by the API server, not left out.
func rights(t *testing.T, w *world) {
	l := w.limited(t)
	for variant, project := range map[csar.Variant]string{csar.Raw: "eeeeeeee", csar.Helm: "ffffffff"} {
		d := l.open(t, project)
		old, next := w.onboard(t, buildAs(t, variant, "rights", "1.34.4")), w.onboard(t, buildAs(t, variant, "rights", "1.35.0"))
		ask, then := d.requests(old), d.requests(next)
		id := d.create(old.ID)
		d.run(id, "instantiate", ask["instantiate"], v1alpha1.Completed)
		d.run(id, "scale", ask["scale-out-workers"], v1alpha1.Completed)
		d.run(id, "change_vnfpkg", then["change"], v1alpha1.Completed)
		info := d.do("GET", "vnf_instances/"+id, nil).want(200).document()["instantiatedVnfInfo"].(object)
		d.run(id, "heal", object{"vnfcInstanceId": []any{info["vnfcInfo"].([]any)[0].(object)["id"]}}, v1alpha1.Completed)
		d.run(id, "terminate", then["terminate"], v1alpha1.Completed)
		d.do("DELETE", "vnf_instances/"+id, nil).want(204)
		eventually(t, "the instance stays", func() (bool, string) {
			err := w.client.Get(t.Context(), named(d.namespace, id), &v1alpha1.VNFInstance{})
			return err != nil, "it is there"
		})
	}
	d := l.open(t, "abababab")
	more := w.onboard(t, build(t, "more", "1.34.4"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n")
	op := d.run(d.create(more.ID), "instantiate", d.instantiation(more.Deploy), v1alpha1.RolledBack)
	if e := op["error"].(object); e["status"] != float64(403) {
		t.Errorf("a ConfigMap, for which there is no rule: %v", e)
	}
	if _, err := w.kube.Typed.CoreV1().ConfigMaps(d.namespace).Get(t.Context(), "more", metav1.GetOptions{}); err == nil {
		t.Error("it was made")
	}
}
