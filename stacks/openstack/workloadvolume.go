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

// WorkloadVolume is a volume that Cinder CSI made for a claim on a cluster. It
// carries the cluster's name and no mark of an environment.
type WorkloadVolume struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	SizeGiB int    `json:"sizeGiB"`
	// Stays says that it outlives the cluster, and Reason why it does, or does
	// not.
	Stays  bool   `json:"stays"`
	Reason string `json:"reason"`

	servers []string // that have it
	kept    bool
}

// WorkloadVolumes lists the volumes of claims on clusters of a name, with what
// becomes of them when the one goes that has the servers.
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

// judge decides which volumes stay. The name alone does not show whose they
// are: another cluster of the name in the project marks its own in the same way.
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
			v.Reason = "a server that is not of the environment has it"
		case len(v.servers) == 0 && shared:
			v.Reason = "another cluster of the name is in the project, and no server of the environment has it"
		case len(ours) == 0:
			v.Reason = "no server is left that shows whose it is"
		default:
			v.Stays, v.Reason = false, "spec.volumesPolicy is delete"
		}
	}
}

// RemoveWorkloadVolumes deletes those that do not stay, at the same time; what
// cannot be deleted does not keep the rest from going.
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
