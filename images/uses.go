package images

import (
	"cmp"
	"context"
	"errors"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/clustertemplates"

	"github.com/slipway-sh/slipway/internal/cloud"
)

// Uses maps the ID or name of each image in use to its user: a server, a volume that a
// server boots from, or a cluster template. Machines of clusters are servers. With an
// administrator's login, it covers all projects.
func (g *Glance) Uses(ctx context.Context) (map[string]string, error) {
	used := map[string]string{}
	for what, look := range map[string]func(context.Context, map[string]string) error{
		"servers": g.serverUses, "volumes": g.volumeUses, "cluster templates": g.templateUses,
	} {
		if err := look(ctx, used); err != nil && !errors.Is(err, cloud.ErrNoService) {
			return nil, g.cloud.Fault("images used by "+what, err)
		}
	}
	return used, nil
}

func (g *Glance) serverUses(ctx context.Context, used map[string]string) error {
	client, err := g.cloud.Compute()
	if err != nil {
		return err
	}
	pages, err := servers.List(client, servers.ListOpts{AllTenants: true}).AllPages(ctx)
	if gophercloud.ResponseCodeIs(err, 403) {
		pages, err = servers.List(client, servers.ListOpts{}).AllPages(ctx)
	}
	if err != nil {
		return err
	}
	list, err := servers.ExtractServers(pages)
	for _, server := range list {
		if id, ok := server.Image["id"].(string); ok {
			used[id] = "server " + server.Name
		}
	}
	return err
}

func (g *Glance) volumeUses(ctx context.Context, used map[string]string) error {
	client, err := g.cloud.Volume()
	if err != nil {
		return err
	}
	pages, err := volumes.List(client, volumes.ListOpts{AllTenants: true}).AllPages(ctx)
	if gophercloud.ResponseCodeIs(err, 403) {
		pages, err = volumes.List(client, volumes.ListOpts{}).AllPages(ctx)
	}
	if err != nil {
		return err
	}
	list, err := volumes.ExtractVolumes(pages)
	for _, v := range list {
		if id := v.VolumeImageMetadata["image_id"]; id != "" && len(v.Attachments) > 0 {
			used[id] = "volume " + cmp.Or(v.Name, v.ID)
		}
	}
	return err
}

func (g *Glance) templateUses(ctx context.Context, used map[string]string) error {
	client, err := g.cloud.ContainerInfra()
	if err != nil {
		return err
	}
	pages, err := clustertemplates.List(client, nil).AllPages(ctx)
	if err != nil {
		return err
	}
	list, err := clustertemplates.ExtractClusterTemplates(pages)
	for _, t := range list {
		used[t.ImageID] = "cluster template " + t.Name
	}
	return err
}
