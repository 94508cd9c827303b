package devstack

import (
	"context"
	"errors"
	"fmt"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Option is an option of a section of a configuration file.
type Option struct{ Key, Value string }

// Tempest are the options of section [magnum] of Tempest, which magnum-tempest-plugin reads
// (row D-21).
func (s Settings) Tempest(ctx context.Context, compute, image *gophercloud.ServiceClient, node NodeImage) ([]Option, error) {
	flavor, err := s.findFlavor(ctx, compute)
	if err == nil && flavor == nil {
		err = fault.New("flavor "+s.Flavor, errors.New("the cloud has none of that name"), "run stack.sh again: phase extra makes it")
	}
	if err != nil {
		return nil, err
	}
	pages, err := images.List(image, images.ListOpts{Name: node.Name, Status: images.ImageStatusActive}).AllPages(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing images: %w", err)
	}
	list, err := images.ExtractImages(pages)
	if err != nil {
		return nil, fmt.Errorf("listing images: %w", err)
	}
	if len(list) == 0 {
		return nil, fault.New("image "+node.Name, errors.New("the cloud has none of that name"), "run stack.sh again: phase extra uploads it")
	}
	return []Option{{"image_id", list[0].ID}, {"nic_id", s.PublicNetwork}, {"flavor_id", flavor.ID}, {"master_flavor_id", flavor.ID},
		{"keypair_id", "default"}, {"network_driver", "calico"}, {"labels", "octavia_provider:ovn"}, {"copy_logs", "true"}}, nil
}
