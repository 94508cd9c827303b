package kubernetes

import (
	"strings"
	"testing"

	"github.com/pulumi/pulumi-go-provider/infer"

	"github.com/slipway-sh/slipway/internal/fault"
)

// TestControllersAreUpgradedStepByStep: a plan refuses a step that is too long, before anything
// is changed, and says where to stop.
func TestControllersAreUpgradedStepByStep(t *testing.T) {
	t.Parallel()
	for version, stop := range map[string]string{"v0.14.2": "", "v0.14.1": "", "v0.15.0": "", "v0.16.0": "first to one with infrastructure-openstack v0.15, then to this one", "v0.13.0": "slipway undo"} {
		state := ClusterAPIState{ClusterAPIInputs{Versions: map[string]string{"infrastructure-openstack": "v0.14.2", "cert-manager": "v1.21.2"}}}
		in := state.ClusterAPIInputs
		in.Versions = map[string]string{"infrastructure-openstack": version, "cert-manager": "v1.21.2"}
		c := &clusterAPI{controller[ClusterAPIInputs, ClusterAPIState]{clusterAPIKind{}}}
		got, err := c.Diff(t.Context(), infer.DiffRequest[ClusterAPIInputs, ClusterAPIState]{State: state, Inputs: in})
		switch {
		case stop == "" && (err != nil || got.HasChanges != (version != "v0.14.2")):
			t.Errorf("%s: changes %v, %v", version, got.HasChanges, err)
		case stop != "" && (fault.ExitCode(err) != fault.ExitUsage || !strings.Contains(fault.Remedy(err), stop)):
			t.Errorf("%s: %v (remedy %q)", version, err, fault.Remedy(err))
		}
	}
}
