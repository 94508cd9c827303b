package controller

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// More volume types than a Cluster may have cost no cluster: it gets classes for the first, and
// says so also when they are long known.
func TestManyVolumeTypes(t *testing.T) {
	t.Parallel()
	for count, all := range map[int]bool{v1alpha1.MaxVolumeTypes - 1: true, v1alpha1.MaxVolumeTypes + 40: false} {
		h := start(t, func(c *v1alpha1.Cluster) { c.Spec.Resolved.VolumeTypes = nil })
		found := resolved("image-34", "1.34.2")
		for i := range count {
			found.VolumeTypes = append(found.VolumeTypes, fmt.Sprintf("type-%03d", i))
		}
		found.VolumeTypes = found.VolumeTypes[1:] // without ssd, which is always there
		found.VolumeTypes[0] = "default"
		h.r.Resolver = fakeResolver{*found}
		h.pass()
		h.settle()
		h.pass()
		h.phases(v1alpha1.CreateComplete)
		c := h.cluster()
		if types := c.Spec.Resolved.VolumeTypes; len(types) != min(count, v1alpha1.MaxVolumeTypes) || types[0] != "default" {
			t.Errorf("%d types: the cluster has %v", count, types)
		}
		told := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionSettings)
		if told == nil || (told.Status == "True") != all || !all && !strings.Contains(told.Message, fmt.Sprintf("at most %d volume types", v1alpha1.MaxVolumeTypes)) {
			t.Errorf("%d types: %+v", count, told)
		}
	}
}
