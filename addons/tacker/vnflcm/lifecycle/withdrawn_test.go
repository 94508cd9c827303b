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
	o := &v1alpha1.VNFPackage{}
	if err := w.client.Get(t.Context(), named("", p.ID), o); err != nil {
		t.Fatal(err)
	}
	o.Spec.Disabled, o.Spec.Projects = true, []string{"another"}
	if err := w.client.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	w.set(w.held, d.namespace, false)
	d.reach(op, v1alpha1.Completed)
	d.do("POST", "vnf_instances", object{"vnfdId": p.ID}).want(422, "no package")
	d.run(other, "instantiate", d.instantiation(p.Deploy), v1alpha1.RolledBack)
	d.run(id, "terminate", object{"terminationType": "FORCEFUL"}, v1alpha1.Completed)
}
