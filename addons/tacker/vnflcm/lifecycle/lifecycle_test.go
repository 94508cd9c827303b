package lifecycle

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-sh/slipway/addons/tacker/csar"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
)

// TestEndpoint is all that needs an API server, beside each other in projects of their own.
//
// proves: T-16, T-17, T-18, T-19, T-20, T-21, T-22, T-23, T-24, T-25
func TestEndpoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, test := range map[string]func(*testing.T, *world){
		"life cycle": lifeCycle, "chart": charts, "rights": rights, "headers": headers, "lists": lists, "states": states, "scale in": scaleIn, "concurrency": concurrency, "kill": kill,
		"unknown kind": unknownKind, "namespaces": namespaces, "owners": owners, "change back": changeBack, "subscriptions": subscriptions, "secrets": secrets, "projects": walls, "conflicts": conflicts,
		"versions": versions, "last words": lastWords, "renewal": renewal, "lost answers": lostAnswers, "lost creation": lostCreation, "withdrawn": withdrawn, "leftovers": leftovers,
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t, w) })
	}
}

// replicas are those of a node group's or control plane's object.
func (d *door) replicas(kind schema.GroupVersionResource, name string) (n int64, version string) {
	d.t.Helper()
	o, err := d.w.kube.Dynamic.Resource(kind).Namespace(d.namespace).Get(d.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		d.t.Fatal(err)
	}
	n, _, _ = unstructured.NestedInt64(o.Object, "spec", "replicas")
	version, _, _ = unstructured.NestedString(o.Object, "spec", "version")
	return n, version
}

// affected are the machines of an operation by unit and change.
func affected(op object) map[string]int {
	found := map[string]int{}
	changes, _ := op["resourceChanges"].(object)
	list, _ := changes["affectedVnfcs"].([]any)
	for _, one := range list {
		vnfc := one.(object)
		found[vnfc["vduId"].(string)+" "+vnfc["changeType"].(string)]++
	}
	return found
}

func same(t *testing.T, got map[string]int, want map[string]int) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("affected %v, want %v", got, want)
	}
	for name, n := range want {
		if got[name] != n {
			t.Errorf("affected %v, want %v", got, want)
		}
	}
}

// lifeCycle is all of it. The numbers of machines are those of the VNFD's levels.
func lifeCycle(t *testing.T, w *world) {
	d := w.open(t, "11111111")
	old, next := w.onboard(t, build(t, "shop", "1.34.4")), w.onboard(t, build(t, "shop", "1.35.0"))
	id := d.create(old.ID)
	made := d.do("GET", "vnf_instances/"+id, nil).want(200).document()
	if made["instantiationState"] != "NOT_INSTANTIATED" || made["vnfProvider"] != "Example" || made["vnfdVersion"] != "1.2" || made["instantiatedVnfInfo"] != nil {
		t.Errorf("created %v", made)
	}
	op := d.run(id, "instantiate", d.instantiation(old.Deploy), v1alpha1.Completed)
	same(t, affected(op), map[string]int{"controlPlane ADDED": 3, "workers ADDED": 3, "gpu-large ADDED": 2})
	info := d.do("GET", "vnf_instances/"+id, nil).want(200).document()["instantiatedVnfInfo"].(object)
	resources := info["vnfcResourceInfo"].([]any)
	if len(resources) != 8 || info["vnfState"] != "STARTED" || len(info["vnfcInfo"].([]any)) != 8 {
		t.Fatalf("instantiated %v", info)
	}
	server := resources[0].(object)["computeResource"].(object)
	if len(server["resourceId"].(string)) != 36 || strings.Contains(server["resourceId"].(string), "/") || server["vimLevelResourceType"] != "Machine" {
		t.Errorf("resource %v", server)
	}
	d.scaling(id)
	op = d.run(id, "change_vnfpkg", object{"vnfdId": next.ID, "additionalParams": object{"upgrade_type": "RollingUpdate", "vdu_params": []any{}, "lcm-kubernetes-def-files": next.Deploy}}, v1alpha1.Completed)
	n, version := d.replicas(planes, "shop-control-plane")
	workers, _ := d.replicas(deployments, "shop-workers")
	if n != 5 || version != "v1.35.0" || workers != 5 || op["changedInfo"].(object)["vnfdId"] != next.ID {
		t.Errorf("changed to %d control planes of %s and %d workers: %v", n, version, workers, op)
	}
	d.healing(id)
	if left := d.templates(); left[0] == 0 {
		t.Error("there are no machine templates")
	}
	d.run(id, "terminate", object{"terminationType": "GRACEFUL"}, v1alpha1.Completed)
	if left := d.templates(); left[0] != 0 || left[1] != 0 || left[2] != 0 {
		t.Errorf("terminated, and left %v", left)
	}
	ended := d.do("GET", "vnf_instances/"+id, nil).want(200).document()
	if i := ended["instantiatedVnfInfo"].(object); i["vnfState"] != "STOPPED" || ended["vimConnectionInfo"] != nil || ended["instantiationState"] != "NOT_INSTANTIATED" {
		t.Errorf("terminated %v", ended)
	}
	d.do("DELETE", "vnf_instances/"+id, nil).want(204)
	d.do("GET", "vnf_instances/"+id, nil).want(404)
	d.do("DELETE", "vnf_instances/"+id, nil).want(404)
	eventually(t, "the instance stays", func() (bool, string) {
		err := w.client.Get(t.Context(), named(d.namespace, id), &v1alpha1.VNFInstance{})
		return err != nil, "it is there"
	})
}

// scaling goes out by two, in by one, and not beyond the levels.
func (d *door) scaling(id string) {
	d.t.Helper()
	aspect := csar.Unit{ID: "workers", MaxLevel: 1}.Aspect()
	op := d.run(id, "scale", object{"type": "SCALE_OUT", "aspectId": aspect, "numberOfSteps": 2}, v1alpha1.Completed)
	same(d.t, affected(op), map[string]int{"workers ADDED": 4})
	op = d.run(id, "scale", object{"type": "SCALE_IN", "aspectId": aspect}, v1alpha1.Completed)
	same(d.t, affected(op), map[string]int{"workers REMOVED": 2})
	d.run(id, "scale", object{"type": "SCALE_OUT", "aspectId": "controlPlane_scale"}, v1alpha1.Completed)
	d.do("POST", "vnf_instances/"+id+"/scale", object{"type": "SCALE_OUT", "aspectId": aspect, "numberOfSteps": 3}).want(400, "level 5")
	d.do("POST", "vnf_instances/"+id+"/scale", object{"type": "SCALE_IN", "aspectId": aspect, "numberOfSteps": 3}).want(400, "level -1")
	d.do("POST", "vnf_instances/"+id+"/scale", object{"type": "SCALE_OUT", "aspectId": "none"}).want(400, "no aspect none")
	info := d.do("GET", "vnf_instances/"+id, nil).document()["instantiatedVnfInfo"].(object)
	for _, one := range info["scaleStatus"].([]any) {
		if s := one.(object); s["aspectId"] == aspect && s["scaleLevel"] != float64(2) {
			d.t.Errorf("scaled to %v", s)
		}
	}
}

// healing replaces one machine, then all.
func (d *door) healing(id string) {
	d.t.Helper()
	info := d.do("GET", "vnf_instances/"+id, nil).document()["instantiatedVnfInfo"].(object)
	vnfc := info["vnfcInfo"].([]any)[0].(object)
	op := d.run(id, "heal", object{"vnfcInstanceId": []any{vnfc["id"]}}, v1alpha1.Completed)
	unit := vnfc["vduId"].(string)
	same(d.t, affected(op), map[string]int{unit + " ADDED": 1, unit + " REMOVED": 1})
	d.run(id, "heal", object{"additionalParams": object{"all": true}}, v1alpha1.Completed)
	o, err := d.w.kube.Dynamic.Resource(deployments).Namespace(d.namespace).Get(d.t.Context(), "shop-workers", metav1.GetOptions{})
	if after, _, _ := unstructured.NestedString(o.Object, "spec", "rollout", "after"); err != nil || after == "" {
		d.t.Errorf("no rolling restart: %q, %v", after, err)
	}
	d.run(id, "heal", object{"vnfcInstanceId": []any{"nobody"}}, v1alpha1.RolledBack)
}

// templates counts what is left: machine templates, clusters and machines.
func (d *door) templates() (left [3]int) {
	d.t.Helper()
	for i, kind := range []schema.GroupVersionResource{{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Resource: "openstackmachinetemplates"}, clusters, machines} {
		list, err := d.w.kube.Dynamic.Resource(kind).Namespace(d.namespace).List(d.t.Context(), metav1.ListOptions{})
		if err != nil {
			d.t.Fatal(err)
		}
		left[i] = len(list.Items)
	}
	return left
}

// changeBack: a change that fails is rolled back to the old package, but not to an older
// Kubernetes.
func changeBack(t *testing.T, w *world) {
	d := w.open(t, "22222222")
	old, next := w.onboard(t, build(t, "back", "1.34.4")), w.onboard(t, build(t, "back", "1.35.0"))
	id := d.create(old.ID)
	d.run(id, "instantiate", d.instantiation(old.Deploy), v1alpha1.Completed)
	body := object{"vnfdId": next.ID, "additionalParams": object{"upgrade_type": "RollingUpdate", "vdu_params": []any{object{"vdu_id": "workers"}}, "lcm-kubernetes-def-files": next.Deploy}}
	w.set(w.held, d.namespace, true)
	op := d.start(id, "change_vnfpkg", body)
	d.reach(op, v1alpha1.Processing)
	d.expire(op)
	w.set(w.held, d.namespace, false)
	d.do("POST", "vnf_lcm_op_occs/"+op+"/rollback", nil).want(202)
	eventually(t, "rolled back to an older Kubernetes", func() (bool, string) {
		now := d.do("GET", "vnf_lcm_op_occs/"+op, nil).document()
		e, _ := now["error"].(object)
		detail, _ := e["detail"].(string)
		return now["operationState"] == "FAILED_TEMP" && strings.Contains(detail, "cannot go back to v1.34.4"), string(d.do("GET", "vnf_lcm_op_occs/"+op, nil).text)
	})
	d.do("POST", "vnf_lcm_op_occs/"+op+"/retry", nil).want(202)
	d.reach(op, v1alpha1.Completed)
	body["vnfdId"], body["additionalParams"].(object)["vdu_params"] = next.ID, []any{object{"vdu_id": "nobody"}}
	d.do("POST", "vnf_instances/"+id+"/change_vnfpkg", body).want(400, "nobody")
	body["vnfdId"] = "none"
	d.do("POST", "vnf_instances/"+id+"/change_vnfpkg", body).want(422)
	// Back to an older Kubernetes by a change is refused before anything happens.
	body["vnfdId"], body["additionalParams"].(object)["vdu_params"] = old.ID, []any{}
	refused := d.run(id, "change_vnfpkg", body, v1alpha1.RolledBack)
	if detail := refused["error"].(object)["detail"].(string); !strings.Contains(detail, "cannot go back") {
		t.Error(detail)
	}
}
