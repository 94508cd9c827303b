package kubernetes

import (
	"strings"
	"testing"

	"github.com/pulumi/pulumi-go-provider/infer"

	"github.com/slipway-sh/slipway/internal/fault"
)

// What Kubernetes cannot do is refused in the plan, before anything is changed.
func TestVersionsThatAClusterCannotGoTo(t *testing.T) {
	t.Parallel()
	const has = `{"kubernetesVersion": "1.34.4", "controlPlane": {"serverGroup": {"policy": "anti-affinity"}}}`
	for name, test := range map[string]struct {
		to, version, refused string
		changes              bool
	}{
		"the same":              {has, "", "", false},
		"a patch":               {`{"kubernetesVersion": "1.34.9"}`, "", "", true},
		"the next":              {`{"kubernetesVersion": "1.35.0"}`, "", "", true},
		"the one after it":      {`{"kubernetesVersion": "1.36.0"}`, "", "cannot skip", false},
		"the one before":        {`{"kubernetesVersion": "1.33.9"}`, "", "cannot be downgraded", false},
		"a patch back":          {`{"kubernetesVersion": "1.34.3"}`, "", "cannot be downgraded", false},
		"values not yet known":  {"", "1.35.0", "", true},
		"one too far":           {"", "1.36.0", "cannot skip", false},
		"a newer image's older": {"", "1.33.9", "cannot be downgraded", false},
		"other tags":            {`{"kubernetesVersion": "1.34.4", "tags": ["team=a"]}`, "", "OpenStack provider refuses", false},
		"another policy":        {strings.Replace(has, "anti", "soft-anti", 1), "", "has the policy anti-affinity", false},
		"of somebody's values":  {`{"version": "1.36.0"}`, "", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := ClusterState{ClusterInputs: ClusterInputs{Name: "demo", Values: has}}
			in := state.ClusterInputs
			in.Values, in.Version = test.to, test.version
			c := &workloadCluster{controller[ClusterInputs, ClusterState]{clusterKind{}}}
			got, err := c.Diff(t.Context(), infer.DiffRequest[ClusterInputs, ClusterState]{State: state, Inputs: in})
			if test.refused == "" {
				if err != nil || got.HasChanges != test.changes {
					t.Errorf("changes %v, %v", got.HasChanges, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.refused) || fault.ExitCode(err) != fault.ExitUsage || fault.Remedy(err) == "" {
				t.Errorf("got %v", err)
			}
		})
	}
}
