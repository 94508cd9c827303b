package target

import (
	"context"
	"encoding/json"

	"github.com/slipway-sh/slipway/internal/preflight"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// keepNetwork leaves out an external network that the management cluster was made without.
// Slipway did not name it on a network that was there before, for a seed without a floating IP,
// and Cluster API's OpenStack provider refuses to add it (pkg/webhooks/openstackcluster_webhook.go).
func (t *Target) keepNetwork(ctx context.Context, choices *preflight.Choices) error {
	seed := &t.Environment.Spec.Seed
	if choices.ExternalNetworkID == "" || seed.MakesNetwork() || seed.WantsFloatingIP() {
		return nil
	}
	resources, err := t.Engine.Resources(ctx)
	if err != nil {
		return err
	}
	if withoutExternal(resources) {
		choices.ExternalNetworkID, choices.ExternalNetworkName, choices.FloatingCIDRs = "", "", nil
	}
	return nil
}

// withoutExternal reports whether there is a management cluster whose values name no external
// network.
func withoutExternal(resources []engine.Resource) bool {
	for _, r := range resources {
		if r.Name != stacks.StepManagementCluster {
			continue
		}
		var values struct {
			ClusterNetworking struct {
				ExternalNetworkID string `json:"externalNetworkId"`
			} `json:"clusterNetworking"`
		}
		return json.Unmarshal([]byte(r.Text("values")), &values) == nil && values.ClusterNetworking.ExternalNetworkID == ""
	}
	return false
}
