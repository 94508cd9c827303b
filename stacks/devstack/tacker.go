package devstack

import (
	"strings"

	"github.com/slipway-sh/slipway/addons/tacker/csar"
)

// TackerSpec is the package of clusters like those of the template: one control plane machine,
// one worker. credential is the Secret with a clouds.yaml on the management cluster.
func (s Settings) TackerSpec(node NodeImage, credential string) csar.Spec {
	values := map[string]any{
		"kubernetesVersion": strings.TrimPrefix(node.KubernetesVersion, "v"), "machineImage": node.Name, "cloudCredentialsSecretName": credential,
		"apiServer":    map[string]any{"loadBalancerProvider": "ovn"},
		"controlPlane": map[string]any{"machineCount": 1, "machineFlavor": s.Flavor},
		"nodeGroups":   []any{map[string]any{"name": "workers", "machineCount": 1, "machineFlavor": s.Flavor}},
	}
	if len(s.NameServers) > 0 {
		servers := make([]any, len(s.NameServers))
		for i, server := range s.NameServers {
			servers[i] = server
		}
		values["clusterNetworking"] = map[string]any{"dnsNameservers": servers}
	}
	return csar.Spec{Name: "slipway-cluster", Version: node.KubernetesVersion, Values: values}
}
