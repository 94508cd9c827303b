package api

import (
	"net/http"
	"testing"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// A patch of a cluster's labels reaches its default groups, also those with a copy of the former
// ones, and the last label can be removed although the template has labels.
func TestPatchedLabels(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, uuid := b.ready("labels", object{"boot_volume_size": "20"})
	for _, g := range b.view(uuid).Groups { // as earlier releases made them
		g = g.DeepCopy()
		g.Spec.Labels = map[string]string{"boot_volume_size": "20"}
		b.must(b.kube.Update(t.Context(), g))
	}
	b.await(func() bool {
		v := b.view(uuid)
		return len(v.Default(true).Spec.Labels) == 1 && len(v.Default(false).Spec.Labels) == 1
	})
	skipped := object{"auto_healing_enabled": "true"} // the template's
	for _, step := range []struct {
		operation    object
		want, absent object
	}{
		{patchOp("replace", "/labels/boot_volume_size", "40"), object{"boot_volume_size": "40"}, skipped},
		{patchOp("remove", "/labels/boot_volume_size"), object{}, skipped},
		{patchOp("add", "/labels/auto_healing_enabled", "false"), object{"auto_healing_enabled": "false"}, object{}},
		{patchOp("replace", "/labels", object{}), object{}, skipped},
		{patchOp("replace", "/labels", object{"a": "1"}), object{"a": "1"}, skipped},
		{patchOp("remove", "/labels"), object{}, skipped},
	} {
		b.settle(uuid)
		b.do(member, http.MethodPatch, clusters+"/"+uuid, []object{step.operation}).want(202)
		b.show(uuid).is("labels", step.want).is("labels_skipped", step.absent)
		for _, name := range []string{v1alpha1.DefaultMaster, v1alpha1.DefaultWorker} {
			b.do(member, http.MethodGet, clusters+"/"+uuid+"/nodegroups/"+name, nil).want(200).is("labels", step.want).is("labels_skipped", object{})
		}
	}
}
