package capture

import (
	"context"
	"strings"

	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/cloud"
)

// Inventory lists what the project has in the cloud. A list that the cloud does not
// give is Missing with its cause: a backup of the cluster is worth having without it.
// A service that the cloud does not have is no list that is missing.
func Inventory(ctx context.Context, c *cloud.Cloud) (snapshot.Inventory, error) {
	s, err := c.Inventory(ctx)
	if err != nil {
		return snapshot.Inventory{}, err
	}
	all, project := snapshot.Inventory{}, s.Token.ProjectID
	for _, one := range s.Servers {
		all.Servers = append(all.Servers, snapshot.Resource{ID: one.ID, Name: one.Name, Project: project, Status: one.Status})
	}
	for _, one := range s.Volumes {
		all.Volumes = append(all.Volumes, snapshot.Resource{ID: one.ID, Name: one.Name, Project: project, Status: one.Status})
	}
	for _, one := range s.Balancers {
		all.LoadBalancers = append(all.LoadBalancers, snapshot.Resource{ID: one.ID, Name: one.Name, Project: project, Status: one.Provisioning})
	}
	for _, one := range s.FloatingIPs {
		all.FloatingIPs = append(all.FloatingIPs, snapshot.Resource{ID: one.ID, Name: one.Name, Project: project, Address: one.Address})
	}
	for _, one := range s.Ports {
		all.Ports = append(all.Ports, snapshot.Resource{ID: one.ID, Name: one.Name, Project: project, Status: one.Status, Address: strings.Join(one.Addresses, ",")})
	}
	for _, one := range s.Missing {
		if !one.Absent {
			all.Missing = append(all.Missing, one.What+": "+one.Cause)
		}
	}
	return all, nil
}
