package gather

import (
	"context"
	"fmt"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/instanceactions"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/portsbinding"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/support"
)

// details is of how many load balancers and servers the details are asked.
const details = 50

// consoleLines is how much of a console is read.
const consoleLines = 2000

// Cloud collects what a project has: all lists with statuses, faults and quotas, ports
// with their bindings, the status trees of load balancers, and of servers that are not
// well, or that sick names by id, the console and what was done with them.
func Cloud(c *cloud.Cloud, sick func(context.Context) []string) func(context.Context, *support.Folder) error {
	return func(ctx context.Context, folder *support.Folder) error {
		s, err := c.Snapshot(ctx)
		if err != nil {
			return fmt.Errorf("reading the project: %w", err)
		}
		for _, m := range s.Missing {
			folder.Miss(m.What, fmt.Errorf("%s: %s", m.Service, m.Cause))
		}
		folder.JSON("project.json", s)
		bindings(ctx, c, folder)
		trees(ctx, c, s, folder)
		machines(ctx, c, s, sick(ctx), folder)
		return nil
	}
}

// bindings are the ports as Neutron has them. A project without the right to see bindings
// gets the ports without.
func bindings(ctx context.Context, c *cloud.Cloud, folder *support.Folder) {
	client, err := c.Network()
	if err != nil {
		return // it is in the project's missing lists
	}
	pages, err := ports.List(client, ports.ListOpts{}).AllPages(ctx)
	if err != nil {
		folder.Miss("ports.json", c.Fault("ports", err))
		return
	}
	var all []struct {
		ports.Port
		portsbinding.PortsBindingExt
	}
	if err := ports.ExtractPortsInto(pages, &all); err != nil {
		folder.Miss("ports.json", fmt.Errorf("reading the ports: %w", err))
		return
	}
	list := make([]map[string]any, 0, len(all))
	for _, p := range all {
		list = append(list, map[string]any{"id": p.ID, "name": p.Name, "status": p.Status, "adminStateUp": p.AdminStateUp, "networkID": p.NetworkID, "deviceID": p.DeviceID, "deviceOwner": p.DeviceOwner,
			"fixedIPs": p.FixedIPs, "securityGroups": p.SecurityGroups, "allowedAddressPairs": p.AllowedAddressPairs, "macAddress": p.MACAddress,
			"host": p.HostID, "vifType": p.VIFType, "vnicType": p.VNICType, "vifDetails": p.VIFDetails})
	}
	folder.JSON("ports.json", list)
}

// trees are the status trees of load balancers.
func trees(ctx context.Context, c *cloud.Cloud, s *cloud.Snapshot, folder *support.Folder) {
	client, err := c.LoadBalancer()
	if err != nil {
		return
	}
	for i, b := range s.Balancers {
		name := "load-balancers/" + b.Name + "-" + b.ID + ".json"
		if i == details {
			folder.Miss("load-balancers", fmt.Errorf("only the trees of %d of %d load balancers were asked for", details, len(s.Balancers)))
			return
		}
		tree, err := loadbalancers.GetStatuses(ctx, client, b.ID).Extract()
		if err != nil {
			folder.Miss(name, c.Fault("load balancer "+b.Name, err))
			continue
		}
		folder.JSON(name, tree)
	}
}

// machines are the consoles and actions of servers that are not well.
func machines(ctx context.Context, c *cloud.Cloud, s *cloud.Snapshot, sick []string, folder *support.Folder) {
	client, err := c.Compute()
	if err != nil {
		return
	}
	wanted := map[string]bool{}
	for _, id := range sick {
		wanted[id] = true
	}
	asked := 0
	for _, server := range s.Servers {
		if !wanted[server.ID] && server.Status == "ACTIVE" {
			continue
		}
		if asked++; asked > details {
			folder.Miss("servers", fmt.Errorf("more than %d servers are not well: the consoles of the others were not asked for", details))
			return
		}
		name := "servers/" + server.Name + "-" + server.ID
		console, err := servers.ShowConsoleOutput(ctx, client, server.ID, servers.ShowConsoleOutputOpts{Length: consoleLines}).Extract()
		if err != nil {
			folder.Miss(name+".console.log", c.Fault("console of server "+server.Name, err))
		} else {
			folder.Add(name+".console.log", []byte(console))
		}
		pages, err := instanceactions.List(client, server.ID, nil).AllPages(ctx)
		if err != nil {
			folder.Miss(name+".actions.json", c.Fault("actions of server "+server.Name, err))
			continue
		}
		if actions, err := instanceactions.ExtractInstanceActions(pages); err == nil {
			folder.JSON(name+".actions.json", actions)
		}
	}
}
