package openstack

import (
	"context"
	"fmt"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/volumeattach"

	"github.com/slipway-sh/slipway/internal/cause"
)

// running waits until the server is active. It starts a server that is off, and confirms a
// pending resize.
func (k serverKind) running(ctx context.Context, id string) (client *gophercloud.ServiceClient, s *servers.Server, err error) {
	asked := ""
	err = wait(ctx, func() (string, bool, error) {
		if client, s, err = k.get(ctx, id); err != nil {
			return "", false, err
		}
		if s.Status == asked {
			return lazy(s), false, nil
		}
		asked = ""
		switch s.Status {
		case "ACTIVE":
			return "", s.TaskState == "", nil
		case "ERROR":
			return "", false, failed(s.Status, s.Fault.Message, serverRemedy(s.Fault.Message))
		case "SHELVED", "SHELVED_OFFLOADED":
			if s.TaskState == "" {
				return "", false, failed(s.Status, "the server is shelved", "run slipway seed wake, then the same command again")
			}
		case "PAUSED", "SUSPENDED", "RESCUE", "SOFT_DELETED", "DELETED":
			if s.TaskState == "" {
				return "", false, failed(s.Status, "somebody put the server into this state", "bring it back (openstack server unpause, resume, unrescue or restore), or delete it; then run the same command again")
			}
		case "SHUTOFF":
			if s.TaskState == "" {
				asked = s.Status
				return "starting", false, servers.Start(ctx, client, id).ExtractErr()
			}
		case "VERIFY_RESIZE":
			asked = s.Status
			return "confirming the new flavor", false, servers.ConfirmResize(ctx, client, id).ExtractErr()
		}
		return describe(s), false, nil
	})
	return client, s, err
}

// lazy is the state of a server that was asked to leave it. Nova reports nothing if its host
// cannot do so: then the server has no task.
func lazy(s *servers.Server) string {
	if s.TaskState == "" {
		return vainly + describe(s)
	}
	return describe(s)
}

// describe returns a server's state and task in Nova's terms.
func describe(s *servers.Server) string {
	does := map[string]string{"scheduling": "its host is chosen", "networking": "its ports are set up",
		"block_device_mapping": "Cinder attaches its volumes", "spawning": "its host makes the machine"}[s.TaskState]
	switch {
	case does != "":
		return fmt.Sprintf("server is %s (%s: %s)", s.Status, s.TaskState, does)
	case s.TaskState != "":
		return fmt.Sprintf("server is %s (%s)", s.Status, s.TaskState)
	}
	return "server is " + s.Status
}

// serverRemedy is what to do about Nova's fault of a server.
func serverRemedy(novaFault string) string {
	const again = "run the same command again, which creates the server again"
	if fix := cause.ServerFault(novaFault); fix != "" {
		return fix + "; then " + again
	}
	return again
}

// resize changes the flavor and confirms.
func (k serverKind) resize(ctx context.Context, client *gophercloud.ServiceClient, id, flavor string) error {
	if err := servers.Resize(ctx, client, id, servers.ResizeOpts{FlavorRef: flavor}).ExtractErr(); err != nil {
		return fmt.Errorf("changing the flavor: %w", err)
	}
	_, s, err := k.running(ctx, id)
	if err != nil {
		return err
	}
	if now, _ := s.Flavor["id"].(string); now != flavor {
		return failed(s.Status, "the flavor was not changed: "+s.Fault.Message, "see openstack server event list for this server")
	}
	return nil
}

// attach attaches the volumes that are not attached yet.
func (k serverKind) attach(ctx context.Context, client *gophercloud.ServiceClient, s *servers.Server, volumes []string) error {
	for _, id := range volumes {
		if slices.ContainsFunc(s.AttachedVolumes, func(a servers.AttachedVolume) bool { return a.ID == id }) {
			continue
		}
		if _, err := volumeattach.Create(ctx, client, s.ID, volumeattach.CreateOpts{VolumeID: id}).Extract(); err != nil {
			return fmt.Errorf("attaching volume %s: %w", id, err)
		}
	}
	return nil
}

// devices returns the boot disk and the volumes. Without either, Nova needs none.
func (in ServerInputs) devices() []servers.BlockDevice {
	if in.RootVolumeSize == 0 && len(in.Volumes) == 0 {
		return nil
	}
	root := servers.BlockDevice{SourceType: servers.SourceImage, UUID: in.ImageID, DestinationType: servers.DestinationLocal, DeleteOnTermination: true}
	if in.RootVolumeSize > 0 {
		root.DestinationType, root.VolumeSize, root.VolumeType = servers.DestinationVolume, in.RootVolumeSize, in.RootVolumeType
	}
	devices := []servers.BlockDevice{root}
	for _, id := range in.Volumes {
		devices = append(devices, servers.BlockDevice{SourceType: servers.SourceVolume, UUID: id, DestinationType: servers.DestinationVolume, BootIndex: -1})
	}
	return devices
}
