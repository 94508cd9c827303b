package cloud

import (
	"context"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
	volumezones "github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/availabilityzones"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumetypes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/availabilityzones"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/hypervisors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/limits"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
)

func machineListings() []listing {
	return []listing{
		{Compute, ListFlavors, listFlavors}, {Compute, ListServers, listServers}, {Compute, ListKeyPairs, listKeyPairs},
		{Compute, ListZones, listComputeZones}, {Compute, ListQuotas, computeQuotas}, {Compute, "hypervisors", countHosts},
		{Volume, ListVolumes, listVolumes}, {Volume, ListVolumeTypes, listVolumeTypes}, {Volume, ListZones, listVolumeZones}, {Volume, ListQuotas, everyVolumeQuota},
	}
}

func listFlavors(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) (err error) {
	s.Flavors, err = every(ctx, flavors.ListDetail(client, flavors.ListOpts{}), flavors.ExtractFlavors, func(f flavors.Flavor) FlavorInfo {
		return FlavorInfo{ID: f.ID, Name: f.Name, VCPUs: f.VCPUs, RAM: f.RAM, Disk: f.Disk}
	})
	return err
}

func listServers(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) (err error) {
	s.Servers, err = every(ctx, servers.List(client, servers.ListOpts{}), servers.ExtractServers, func(v servers.Server) ServerInfo {
		var tags []string
		if v.Tags != nil {
			tags = *v.Tags
		}
		flavor, _ := v.Flavor["original_name"].(string)
		return ServerInfo{Resource: resource("server", v.ID, v.Name, tags, v.Metadata, ""), Flavor: flavor,
			Status: v.Status, Task: v.TaskState, Locked: v.Locked != nil && *v.Locked, Fault: v.Fault.Message, FaultAt: v.Fault.Created, Created: v.Created, Updated: v.Updated}
	})
	return err
}

// countHosts counts the hosts that accept servers, if the cloud shows them.
func countHosts(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) error {
	taking, err := every(ctx, hypervisors.List(client, nil), hypervisors.ExtractHypervisors, func(h hypervisors.Hypervisor) bool {
		return h.State == "up" && h.Status == "enabled"
	})
	if gophercloud.ResponseCodeIs(err, http.StatusForbidden) || gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return nil
	}
	for _, takes := range taking {
		if takes {
			s.Hosts++
		}
	}
	return err
}

func listKeyPairs(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) (err error) {
	s.KeyPairs, err = every(ctx, keypairs.List(client, keypairs.ListOpts{}), keypairs.ExtractKeyPairs, func(k keypairs.KeyPair) Resource {
		return Resource{Kind: "key pair", ID: k.Name, Name: k.Name}
	})
	return err
}

func listComputeZones(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) error {
	zones, err := every(ctx, availabilityzones.List(client), availabilityzones.ExtractAvailabilityZones, func(z availabilityzones.AvailabilityZone) string {
		return available(z.ZoneName, z.ZoneState.Available)
	})
	s.Zones[ComputeZones] = named(zones)
	return err
}

func listVolumeZones(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) error {
	zones, err := every(ctx, volumezones.List(client), volumezones.ExtractAvailabilityZones, func(z volumezones.AvailabilityZone) string {
		return available(z.ZoneName, z.ZoneState.Available)
	})
	s.Zones[VolumeZones] = named(zones)
	return err
}

// available is the name of a zone that takes work, else nothing.
func available(name string, yes bool) string {
	if !yes {
		return ""
	}
	return name
}

func named(zones []string) []string {
	var all []string
	for _, zone := range zones {
		if zone != "" {
			all = append(all, zone)
		}
	}
	return all
}

func computeQuotas(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) error {
	found, err := limits.Get(ctx, client, nil).Extract()
	if err != nil {
		return err
	}
	a := found.Absolute
	s.Quotas = []Quota{
		{Compute, "instances", a.MaxTotalInstances, a.TotalInstancesUsed}, {Compute, "cores", a.MaxTotalCores, a.TotalCoresUsed}, {Compute, "ram", a.MaxTotalRAMSize, a.TotalRAMUsed},
		{Compute, "server_groups", a.MaxServerGroups, a.TotalServerGroupsUsed}, {Compute, "key_pairs", a.MaxTotalKeypairs, 0},
	}
	return nil
}

func listVolumes(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) (err error) {
	s.Volumes, err = every(ctx, volumes.List(client, volumes.ListOpts{}), volumes.ExtractVolumes, func(v volumes.Volume) VolumeInfo {
		info := VolumeInfo{Resource: resource("volume", v.ID, v.Name, nil, v.Metadata, v.Description), Status: v.Status, Updated: v.UpdatedAt}
		for _, attached := range v.Attachments {
			info.ServerID = attached.ServerID
		}
		return info
	})
	return err
}

func listVolumeTypes(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) (err error) {
	s.VolumeTypes, err = every(ctx, volumetypes.List(client, volumetypes.ListOpts{}), volumetypes.ExtractVolumeTypes, func(v volumetypes.VolumeType) string { return v.Name })
	return err
}
