package lifecycle

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
)

func named(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// expire lets an operation take too long.
func (d *door) expire(op string) object {
	d.t.Helper()
	d.clock.SetTime(d.clock.Now().Add(2 * time.Hour))
	return d.reach(op, v1alpha1.FailedTemp)
}

func (d *door) there(cluster string) bool {
	d.t.Helper()
	_, err := d.w.kube.Dynamic.Resource(clusters).Namespace(d.namespace).Get(d.t.Context(), cluster, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		d.t.Fatal(err)
	}
	return err == nil
}

// states goes through the rows of the state machine, but for those of a restart.
func states(t *testing.T, w *world) {
	d := w.open(t, "33333333")
	p := w.onboard(t, build(t, "states", "1.34.4"))
	id := d.create(p.ID)
	wrong := d.instantiation(p.Deploy)
	wrong["flavourId"] = "none"
	op := d.run(id, "instantiate", wrong, v1alpha1.RolledBack) // STARTING, an error
	if e := op["error"].(object); e["status"] != float64(400) || !strings.Contains(e["detail"].(string), "none") {
		t.Errorf("%v", op)
	}
	for _, verb := range []string{"retry", "rollback", "fail"} {
		d.do("POST", fmt.Sprintf("vnf_lcm_op_occs/%s/%s", op["id"], verb), nil).want(409, "not FAILED_TEMP")
	}
	w.set(w.held, d.namespace, true)
	first := d.start(id, "instantiate", d.instantiation(p.Deploy))
	d.reach(first, v1alpha1.Processing)
	for _, verb := range []string{"retry", "rollback", "fail"} {
		d.do("POST", "vnf_lcm_op_occs/"+first+"/"+verb, nil).want(409, "PROCESSING")
	}
	failed := d.expire(first)
	if detail := failed["error"].(object)["detail"].(string); !strings.Contains(detail, "not done in time") || !strings.Contains(detail, "states") {
		t.Error(detail)
	}
	// retry → PROCESSING → FAILED_TEMP, rollback → ROLLING_BACK → FAILED_TEMP, and again.
	d.do("POST", "vnf_lcm_op_occs/"+first+"/retry", nil).want(202)
	d.reach(first, v1alpha1.Processing)
	d.expire(first)
	w.set(w.kept, d.namespace, true)
	d.do("POST", "vnf_lcm_op_occs/"+first+"/rollback", nil).want(202)
	d.reach(first, v1alpha1.RollingBack)
	d.expire(first)
	w.set(w.kept, d.namespace, false)
	if !d.there("states") {
		t.Fatal("the cluster has gone too early")
	}
	d.do("DELETE", "vnf_instances/"+id, nil).want(409)
	d.do("POST", "vnf_lcm_op_occs/"+first+"/rollback", nil).want(202)
	done := d.reach(first, v1alpha1.RolledBack)
	if d.there("states") || done["error"] == nil {
		t.Errorf("rolled back: the cluster is there, or the error is not: %v", done)
	}
	d.ends(id, p.Deploy)
}

// ends: fail → FAILED, 200 with a body; what is left can be taken over.
func (d *door) ends(id string, files []string) {
	d.t.Helper()
	second := d.start(id, "instantiate", d.instantiation(files))
	d.reach(second, v1alpha1.Processing)
	d.expire(second)
	if got := d.do("POST", "vnf_lcm_op_occs/"+second+"/fail", nil).want(200).document(); got["operationState"] != "FAILED" || got["error"] == nil {
		d.t.Errorf("failed: %v", got)
	}
	d.do("POST", "vnf_lcm_op_occs/"+second+"/retry", nil).want(409)
	d.do("DELETE", "vnf_instances/"+id, nil).want(409, "has left")
	d.w.set(d.w.held, d.namespace, false)
	d.run(id, "instantiate", d.instantiation(files), v1alpha1.Completed)
	d.do("POST", "vnf_instances/"+id+"/instantiate", d.instantiation(files)).want(409, "INSTANTIATED")
	d.do("DELETE", "vnf_instances/"+id, nil).want(409, "Terminate it first")
	d.run(id, "terminate", object{"terminationType": "FORCEFUL"}, v1alpha1.Completed)
	d.do("POST", "vnf_instances/"+id+"/scale", object{"type": "SCALE_OUT", "aspectId": "workers_scale"}).want(409, "NOT_INSTANTIATED")
	modified := d.do("PATCH", "vnf_instances/"+id, object{"vnfInstanceName": "new", "metadata": object{"a": object{"b": 1}}}, "Content-Type", "application/merge-patch+json").want(202)
	location := modified.header.Get("Location")
	d.reach(location[strings.LastIndexByte(location, '/')+1:], v1alpha1.Completed)
	location = d.do("PATCH", "vnf_instances/"+id, object{"metadata": object{"a": nil, "c": "d"}}).want(202).header.Get("Location")
	d.reach(location[strings.LastIndexByte(location, '/')+1:], v1alpha1.Completed)
	if now := d.do("GET", "vnf_instances/"+id, nil).document(); now["vnfInstanceName"] != "new" || fmt.Sprint(now["metadata"]) != "map[c:d]" {
		d.t.Errorf("modified %v", now)
	}
	d.do("DELETE", "vnf_instances/"+id, nil).want(204)
}

// scaleIn, terminations and healing have no rollback; scaling out has one.
func scaleIn(t *testing.T, w *world) {
	d := w.open(t, "44444444")
	p := w.onboard(t, build(t, "scales", "1.34.4"))
	id := d.create(p.ID)
	d.run(id, "instantiate", d.instantiation(p.Deploy), v1alpha1.Completed)
	w.set(w.held, d.namespace, true)
	out := d.start(id, "scale", object{"type": "SCALE_OUT", "aspectId": "workers_scale", "numberOfSteps": 1})
	d.reach(out, v1alpha1.Processing)
	d.expire(out)
	if n, _ := d.replicas(deployments, "scales-workers"); n != 5 {
		t.Errorf("scaled out to %d", n)
	}
	d.do("POST", "vnf_lcm_op_occs/"+out+"/rollback", nil).want(202)
	w.set(w.held, d.namespace, false)
	d.reach(out, v1alpha1.RolledBack)
	if n, _ := d.replicas(deployments, "scales-workers"); n != 3 {
		t.Errorf("rolled back to %d", n)
	}
	for verb, body := range map[string]object{"scale": {"type": "SCALE_IN", "aspectId": "workers_scale"}, "heal": {"additionalParams": object{"all": true}}, "terminate": {"terminationType": "GRACEFUL"}} {
		w.set(w.held, d.namespace, true)
		w.set(w.kept, d.namespace, true)
		op := d.start(id, verb, body)
		d.reach(op, v1alpha1.Processing)
		d.expire(op)
		d.do("POST", "vnf_lcm_op_occs/"+op+"/rollback", nil).want(202)
		eventually(t, verb+" was rolled back", func() (bool, string) {
			now := d.do("GET", "vnf_lcm_op_occs/"+op, nil).document()
			e, _ := now["error"].(object)
			return now["operationState"] == "FAILED_TEMP" && e["status"] == float64(422), fmt.Sprint(now)
		})
		w.set(w.held, d.namespace, false)
		w.set(w.kept, d.namespace, false)
		d.do("POST", "vnf_lcm_op_occs/"+op+"/retry", nil).want(202)
		d.reach(op, v1alpha1.Completed)
		if verb == "terminate" {
			return
		}
	}
	d.run(id, "terminate", object{"terminationType": "GRACEFUL"}, v1alpha1.Completed)
}

// concurrency: of many requests at once one is taken, and after FAILED_TEMP none but
// decisions.
func concurrency(t *testing.T, w *world) {
	d := w.open(t, "55555555")
	p := w.onboard(t, build(t, "many", "1.34.4"))
	id := d.create(p.ID)
	w.set(w.held, d.namespace, true)
	var mu sync.Mutex
	counts, op := map[int]int{}, ""
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			a := d.do("POST", "vnf_instances/"+id+"/instantiate", d.instantiation(p.Deploy))
			mu.Lock()
			defer mu.Unlock()
			if counts[a.status]++; a.status == http.StatusAccepted {
				op = a.header.Get("Location")[strings.LastIndexByte(a.header.Get("Location"), '/')+1:]
			}
		})
	}
	wg.Wait()
	if counts[202] != 1 || counts[409] != 11 {
		t.Fatalf("answers %v", counts)
	}
	d.reach(op, v1alpha1.Processing)
	refused := func() {
		for verb, body := range map[string]any{"instantiate": d.instantiation(p.Deploy), "scale": object{"type": "SCALE_OUT", "aspectId": "workers_scale"},
			"terminate": object{"terminationType": "FORCEFUL"}, "heal": object{}} {
			d.do("POST", "vnf_instances/"+id+"/"+verb, body).want(409, op)
		}
		d.do("PATCH", "vnf_instances/"+id, object{"vnfInstanceName": "x"}).want(409, op)
		d.do("DELETE", "vnf_instances/"+id, nil).want(409, op)
	}
	refused()
	d.expire(op)
	refused()
	statuses := make(chan int, 2)
	for _, verb := range []string{"retry", "fail"} {
		wg.Go(func() { statuses <- d.do("POST", "vnf_lcm_op_occs/"+op+"/"+verb, nil).status })
	}
	wg.Wait()
	if a, b := <-statuses, <-statuses; (a == 409) == (b == 409) {
		t.Errorf("two decisions: %d and %d", a, b)
	}
}
