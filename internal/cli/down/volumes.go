package down

import (
	"context"
	"fmt"

	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// listVolumes lists the volumes of workloads on the management cluster, and what
// will happen to them. The janitor deletes them with the cluster; if it cannot,
// because the seed is gone, they are deleted after the servers.
func listVolumes(ctx context.Context, t *target.Target, things []openstack.Resource) ([]openstack.WorkloadVolume, error) {
	var servers []string
	for _, thing := range things {
		if thing.Type == openstack.TypeServer && thing.Step == stacks.StepManagementCluster {
			servers = append(servers, thing.ID)
		}
	}
	return t.Inventory.WorkloadVolumes(ctx, t.Name(), t.Environment.Spec.VolumesPolicy, servers)
}

// volumeLines say what happens to each volume of a workload.
func (r result) volumeLines() []string {
	var lines []string
	for _, v := range r.Volumes {
		word := map[bool]string{true: "stays", false: "goes"}[v.Stays]
		lines = append(lines, fmt.Sprintf("volume %s of a workload (%s, %d GiB) %s: %s", v.Name, v.ID, v.SizeGiB, word, v.Reason))
	}
	return lines
}
