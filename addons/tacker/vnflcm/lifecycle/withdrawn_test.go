package lifecycle

import (
	"testing"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
)

// withdrawn: a package that is disabled, or offered to others, ends nothing that has begun, and
// makes no new instances.
func withdrawn(t *testing.T, w *world) {
	d := w.open(t, "67676767")
	p := w.onboard(t, build(t, "withdrawn", "1.34.4"))
	id, other := d.create(p.ID), d.create(p.ID)
	w.set(w.held, d.namespace, true)
	op := d.start(id, "instantiate", d.instantiation(p.Deploy))
	d.reach(op, v1alpha1.Processing)
	d.withdraw(p.ID)
	w.set(w.held, d.namespace, false)
	d.reach(op, v1alpha1.Completed)
	d.do("POST", "vnf_instances", object{"vnfdId": p.ID}).want(422, "no package")
	d.run(other, "instantiate", d.instantiation(p.Deploy), v1alpha1.RolledBack)
	d.run(id, "terminate", object{"terminationType": "FORCEFUL"}, v1alpha1.Completed)
}

// leftovers: an instance whose package was disabled after it had failed is not there for ever.
func leftovers(t *testing.T, w *world) {
	d := w.open(t, "68686868")
	p := w.onboard(t, build(t, "leftovers", "1.34.4"))
	id := d.create(p.ID)
	w.set(w.held, d.namespace, true)
	op := d.start(id, "instantiate", d.instantiation(p.Deploy))
	d.reach(op, v1alpha1.Processing)
	d.expire(op)
	d.do("POST", "vnf_lcm_op_occs/"+op+"/fail", nil).want(200)
	d.withdraw(p.ID)
	d.do("DELETE", "vnf_instances/"+id, nil).want(409, "has left")
	w.set(w.held, d.namespace, false)
	d.run(id, "instantiate", d.instantiation(p.Deploy), v1alpha1.Completed)
	d.run(id, "terminate", object{"terminationType": "FORCEFUL"}, v1alpha1.Completed)
	d.do("DELETE", "vnf_instances/"+id, nil).want(204)
}

// withdraw disables a package, and offers it to others.
func (d *door) withdraw(id string) {
	d.t.Helper()
	p := &v1alpha1.VNFPackage{}
	if err := d.w.client.Get(d.t.Context(), named("", id), p); err != nil {
		d.t.Fatal(err)
	}
	p.Spec.Disabled, p.Spec.Projects = true, []string{"another"}
	if err := d.w.client.Update(d.t.Context(), p); err != nil {
		d.t.Fatal(err)
	}
}
