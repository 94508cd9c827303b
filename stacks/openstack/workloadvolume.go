package openstack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"

	"github.com/slipway-sh/slipway/addons/janitor"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/ownership"
)

// WorkloadVolume is a volume that Cinder CSI created for a claim on a cluster. It carries
// the cluster's name but no ownership tag.
type WorkloadVolume struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	SizeGiB int    `json:"sizeGiB"`
	// Stays says that it outlives the cluster, and Reason why or why not.
	Stays  bool   `json:"stays"`
	Reason string `json:"reason"`

	servers []string // that it is attached to
	kept    bool
}

// WorkloadVolumes lists the volumes of claims on clusters with a name, and what happens to
// them when the cluster with these servers is deleted.
func (i Inventory) WorkloadVolumes(ctx context.Context, cluster, policy string, servers []string) ([]WorkloadVolume, error) {
	list := []WorkloadVolume{}
	client, err := i.Volume()
	if err != nil {
		return list, absent(err)
	}
	pages, err := volumes.List(client, volumes.ListOpts{}).AllPages(ctx)
	if err != nil {
		return list, explain("volumes of "+cluster, err)
	}
	all, err := volumes.ExtractVolumes(pages)
	for _, v := range all {
		_, marked := ownership.Find(nil, v.Metadata, v.Description)
		if v.Metadata[janitor.ClusterKey] != cluster || marked {
			continue
		}
		one := WorkloadVolume{ID: v.ID, Name: v.Name, SizeGiB: v.Size, kept: v.Metadata[janitor.KeepKey] == "true"}
		for _, a := range v.Attachments {
			one.servers = append(one.servers, a.ServerID)
		}
		list = append(list, one)
	}
	judge(list, policy, servers)
	return list, err
}

// judge decides which volumes stay. The name alone is not enough: another cluster with the
// name in the project names its volumes in the same way.
func judge(list []WorkloadVolume, policy string, ours []string) {
	foreign := func(v WorkloadVolume) bool {
		return slices.ContainsFunc(v.servers, func(id string) bool { return !slices.Contains(ours, id) })
	}
	shared := slices.ContainsFunc(list, foreign)
	for n := range list {
		v := &list[n]
		v.Stays = true
		switch {
		case policy == config.VolumesKeep:
			v.Reason = "spec.volumesPolicy is keep"
		case v.kept:
			v.Reason = "its metadata says " + janitor.KeepKey
		case foreign(*v):
			v.Reason = "it is attached to a server that does not belong to the environment"
		case len(v.servers) == 0 && shared:
			v.Reason = "the project has another cluster with this name, and the volume is not attached to a server of the environment"
		case len(ours) == 0:
			v.Reason = "no server is left that shows who owns it"
		default:
			v.Stays, v.Reason = false, "spec.volumesPolicy is delete"
		}
	}
}

// RemoveWorkloadVolumes deletes those that do not stay, in parallel; it continues after
// errors.
func (i Inventory) RemoveWorkloadVolumes(ctx context.Context, list []WorkloadVolume, events event.Sink) error {
	var mu sync.Mutex
	var errs []error
	var group sync.WaitGroup
	for _, v := range list {
		if v.Stays {
			continue
		}
		group.Go(func() {
			step := event.Start(events, v.Name, "deleting volume")
			err := times(ctx, deletingAttempts, func() error { return volumeKind{i}.remove(ctx, v.ID, VolumeState{}) })
			if err != nil {
				err = explain("volume "+v.Name, fmt.Errorf("deleting: %w", err))
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
			}
			step.End("deleted", err)
		})
	}
	group.Wait()
	return errors.Join(errs...)
}
