package controller

import (
	"errors"
	"testing"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// TestBackFromAnUpgradeHalfWay: what Helm had changed of the cluster before it was refused, or killed,
// is taken back with the upgrade, although the release was last complete with the same values.
func TestBackFromAnUpgradeHalfWay(t *testing.T) {
	t.Parallel()
	for name, killed := range map[string]bool{"refused": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := ready(t)
			version := func() any {
				return h.object(controlPlane(), stack+"-control-plane").Object["spec"].(map[string]any)["version"]
			}
			h.releases.before = func() {
				plane := h.object(controlPlane(), stack+"-control-plane")
				plane.Object["spec"].(map[string]any)["version"] = "v1.35.0"
				plane.SetGeneration(plane.GetGeneration() + 1)
				h.update(plane)
			}
			h.releases.err = errors.New(`OpenStackCluster "shop" is invalid: spec: Forbidden: cannot be modified`)
			h.r.Resolver = fakeResolver{*resolved("image-35", "1.35.0")}
			h.edit(upgradeTo("image-35", "1.35.0"))
			if killed {
				h.loseStatus(func() bool { return h.releases.failed })
			} else {
				h.pass()
				h.phases(v1alpha1.UpdateFailed)
			}
			if version() != "v1.35.0" {
				t.Fatalf("the control plane is of %v before it is taken back", version())
			}
			h.releases.before, h.releases.err = nil, nil
			h.r.Resolver = fakeResolver{*resolved("image-34", "1.34.2")}
			h.edit(func(c *v1alpha1.Cluster) {
				c.Spec.TemplateRef.Name, c.Spec.Resolved = "t34", resolved("image-34", "1.34.2")
			})
			h.pass()
			if version() != "v1.34.2" {
				t.Errorf("the control plane stays on %v", version())
			}
			h.settle()
			h.pass()
			h.phases(v1alpha1.UpdateComplete)
			ensured := h.releases.ensured
			if h.pass(); h.releases.ensured != ensured {
				t.Error("Helm is asked again and again")
			}
		})
	}
}
