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
		thing, err := s.volume(ctx, v, snapshotsOf[v.ID])
		s.things = append(s.things, thing)
		return err
	})
}

// snapshots finds the cluster's, and returns what stands on each volume: all
// that the project has, because any of them holds its volume.
func (s *survey) snapshots(ctx context.Context, client *gophercloud.ServiceClient) (map[string][]Thing, error) {
	on := map[string][]Thing{}
	err := each(ctx, snapshots.ListDetail(client, snapshots.ListOpts{}), snapshots.ExtractSnapshots, func(p snapshots.Snapshot) error {
		thing := Thing{Kind: kindSnapshot, ID: p.ID, Name: p.Name, keep: kept(p.Metadata)}
		mine := volumeOf(p.Metadata, s.target.name) && !s.elsewhere(p.ProjectID)
		if !mine {
			thing.claim = foreign
		}
		on[p.VolumeID] = append(on[p.VolumeID], thing)
		if !mine {
			return nil
		}
		if p.Status == "deleting" {
			thing.busy, thing.Why = true, p.Status
		}
		s.things = append(s.things, thing)
		return nil
	})
	return on, err
}

// volume judges one of the cluster's volumes. Machines are gone when the
// janitor comes, so that one in use is another cluster's, or a user's.
func (s *survey) volume(ctx context.Context, v volumes.Volume, standing []Thing) (Thing, error) {
	thing := Thing{Kind: kindVolume, ID: v.ID, Name: v.Name, keep: kept(v.Metadata)}
	if thing.keep {
		return thing, nil
	}
	for _, snapshot := range standing {
		thing.busy = true
		switch {
		case snapshot.claim == foreign:
			thing.Why = "snapshot " + snapshot.ID + " of it does not belong to the cluster"
		case snapshot.keep:
			thing.keep, thing.Why = true, "snapshot "+snapshot.ID+" of it is kept"
			return thing, nil
		case thing.Why == "":
			thing.Why = "it has snapshots"
		}
	}
	if v.Status == "deleting" {
		thing.busy, thing.Why = true, v.Status
	}
	for _, attachment := range v.Attachments {
		of, err := s.claimPorts(ctx, ports.ListOpts{DeviceID: attachment.ServerID})
		if err != nil {
			return thing, err
		}
		thing.claim = max(thing.claim, of)
		thing.busy, thing.Why = true, strings.TrimSpace("attached to server "+attachment.ServerID)
	}
	return thing, nil
}
