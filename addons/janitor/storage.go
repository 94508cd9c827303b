package janitor

import (
	"context"
	"errors"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/snapshots"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/slipway-sh/slipway/internal/cloud"
)

// storage finds volumes and snapshots, if the policy is to delete them.
func (s *survey) storage(ctx context.Context) error {
	if !s.volumes {
		return nil
	}
	client, err := s.cloud.Volume()
	if errors.Is(err, cloud.ErrNoService) {
		return nil // then nobody made any
	}
	if err != nil {
		return err
	}
	snapshotsOf, err := s.snapshots(ctx, client)
	if err != nil {
		return err
	}
	return each(ctx, volumes.List(client, volumes.ListOpts{}), volumes.ExtractVolumes, func(v volumes.Volume) error {
		if !volumeOf(v.Metadata, s.target.name) || s.elsewhere(v.TenantID) {
			return nil
		}
		resource, err := s.volume(ctx, v, snapshotsOf[v.ID])
		if err != nil {
			return err // whose it is nobody knows
		}
		s.resources = append(s.resources, resource)
		return nil
	})
}

// snapshots finds the snapshots of the cluster. It returns the snapshots of each volume: all that
// the project has, because any of them holds its volume.
func (s *survey) snapshots(ctx context.Context, client *gophercloud.ServiceClient) (map[string][]Resource, error) {
	on := map[string][]Resource{}
	err := each(ctx, snapshots.ListDetail(client, snapshots.ListOpts{}), snapshots.ExtractSnapshots, func(p snapshots.Snapshot) error {
		resource := Resource{Kind: kindSnapshot, ID: p.ID, Name: p.Name, keep: kept(p.Metadata)}
		mine := volumeOf(p.Metadata, s.target.name) && !s.elsewhere(p.ProjectID)
		if !mine {
			resource.claim = foreign
		}
		on[p.VolumeID] = append(on[p.VolumeID], resource)
		if !mine {
			return nil
		}
		resource.ofCinder(p.Status)
		s.resources = append(s.resources, resource)
		return nil
	})
	return on, err
}

// ofCinder records that Cinder is deleting the resource, or could not. A deletion that failed is
// asked for again in each attempt: it is enough if the operator resets the status.
func (t *Resource) ofCinder(status string) {
	switch status {
	case "deleting":
		t.busy, t.Why = true, status
	case "error_deleting":
		t.Why = "its status is error_deleting, ask the cloud's operator to delete it"
	}
}

// volume judges one of the cluster's volumes. Machines are gone when the janitor starts, so a
// volume in use is another cluster's, or a user's.
func (s *survey) volume(ctx context.Context, v volumes.Volume, standing []Resource) (Resource, error) {
	resource := Resource{Kind: kindVolume, ID: v.ID, Name: v.Name, keep: kept(v.Metadata)}
	if resource.keep {
		return resource, nil
	}
	for _, snapshot := range standing {
		resource.busy = true
		switch {
		case snapshot.claim == foreign:
			resource.Why = "snapshot " + snapshot.ID + " of it does not belong to the cluster"
		case snapshot.keep:
			resource.keep, resource.Why = true, "snapshot "+snapshot.ID+" of it is kept"
			return resource, nil
		case resource.Why == "":
			resource.Why = "it has snapshots"
		}
	}
	resource.ofCinder(v.Status)
	for _, attachment := range v.Attachments {
		of, err := s.claimPorts(ctx, ports.ListOpts{DeviceID: attachment.ServerID})
		if err != nil {
			return resource, err
		}
		resource.claim = max(resource.claim, of)
		resource.busy, resource.Why = true, strings.TrimSpace("attached to server "+attachment.ServerID)
	}
	return resource, nil
}
