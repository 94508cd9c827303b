package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Sweep deletes resources by their ownership tags, without the state: what a killed run
// created, or everything if the state is lost. Resources of a type are deleted in parallel,
// types in the order of Inventory.List. It continues after errors and joins them.
func (i Inventory) Sweep(ctx context.Context, things []Resource, events event.Sink) error {
	var mu sync.Mutex
	var errs []error
	for _, kind := range deletionOrder() {
		var group sync.WaitGroup
		for _, t := range things {
			if t.Type != kind {
				continue
			}
			group.Go(func() {
				step := event.Start(events, t.Name, "deleting "+t.Type)
				err := i.removeUnlessKept(ctx, t)
				if errors.Is(err, errGone) {
					err = nil
				}
				if err != nil {
					err = explain(t.Type+" "+t.Name, fmt.Errorf("deleting: %w", err))
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
				step.End("deleted", err)
			})
		}
		group.Wait()
		if ctx.Err() != nil {
			return errors.Join(append([]error{context.Cause(ctx)}, errs...)...)
		}
	}
	return errors.Join(errs...)
}

func (i Inventory) remove(ctx context.Context, t Resource) error {
	switch t.Type {
	case TypeLoadBalancer:
		return i.removeBalancer(ctx, t.ID)
	case TypeServer:
		return serverKind{i}.remove(ctx, t.ID, ServerState{})
	case TypeFloatingIP:
		return floatingKind{i}.remove(ctx, t.ID, FloatingIPState{})
	case TypeRouter:
		if err := i.unplug(ctx, t.ID); err != nil {
			return err
		}
		return routerKind{i}.remove(ctx, t.ID, RouterState{})
	case TypePort:
		return portKind{i}.remove(ctx, t.ID, PortState{})
	case TypeSubnet:
		return subnetKind{i}.remove(ctx, t.ID, SubnetState{})
	case TypeNetwork:
		return networkKind{i}.remove(ctx, t.ID, NetworkState{})
	case TypeSecurityGroup:
		return groupKind{i}.remove(ctx, t.ID, SecurityGroupState{})
	case TypeSnapshot:
		return i.removeSnapshot(ctx, t.ID)
	case TypeVolume:
		return volumeKind{i}.remove(ctx, t.ID, VolumeState{})
	case TypeImage:
		return imageKind{i}.remove(ctx, t.ID, ImageState{})
	case TypeKeyPair:
		return keyPairKind{i}.remove(ctx, t.ID, KeyPairState{})
	case TypeCredential:
		return credentialKind{i, i.UserID}.remove(ctx, t.ID, ApplicationCredentialState{})
	}
	return fmt.Errorf("unknown type %q", t.Type)
}

// unplug removes the interfaces of a router, so that it can be deleted.
func (i Inventory) unplug(ctx context.Context, routerID string) error {
	client, err := i.Network()
	if err != nil {
		return err
	}
	pages, err := ports.List(client, ports.ListOpts{DeviceID: routerID}).AllPages(ctx)
	if err != nil {
		return err
	}
	list, err := ports.ExtractPorts(pages)
	if err != nil {
		return err
	}
	for _, p := range list {
		if !strings.Contains(p.DeviceOwner, "router_interface") && !strings.Contains(p.DeviceOwner, "ha_router_replicated_interface") {
			continue
		}
		_, err := routers.RemoveInterface(ctx, client, routerID, routers.RemoveInterfaceOpts{PortID: p.ID}).Extract()
		if err := skipGone(gone(err)); err != nil {
			return fmt.Errorf("removing the interface %s: %w", p.ID, err)
		}
	}
	return nil
}

// removeUnlessKept deletes a resource. The error for a network or a subnet that is still in
// use lists its ports: they do not belong to the environment, and their owner must decide
// (row S-73). A port without a device does not go away by itself, so it is not waited for.
func (i Inventory) removeUnlessKept(ctx context.Context, t Resource) error {
	var keeping []ports.Port
	err := times(ctx, deletingAttempts, func() error {
		err := i.remove(ctx, t)
		keeping = nil
		if !gophercloud.ResponseCodeIs(err, http.StatusConflict) || (t.Type != TypeNetwork && t.Type != TypeSubnet) {
			return err
		}
		if keeping = i.portsOf(ctx, t); slices.ContainsFunc(keeping, func(p ports.Port) bool { return p.DeviceID == "" && p.DeviceOwner == "" }) {
			return errKept
		}
		return err
	})
	if len(keeping) == 0 {
		return err
	}
	var names []string
	for _, p := range keeping {
		names = append(names, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s", p.ID, p.Name, p.DeviceOwner)), " "))
	}
	return fault.New(t.Type+" "+t.Name, fmt.Errorf("%w: %s", errKept, strings.Join(names, ", ")), "if nobody needs these ports, delete them and run slipway down again")
}

var errKept = errors.New("ports that do not belong to the environment use it")

// portsOf returns the ports in a network or a subnet; none if they cannot be listed.
func (i Inventory) portsOf(ctx context.Context, t Resource) []ports.Port {
	client, err := i.Network()
	if err != nil {
		return nil
	}
	filter := ports.ListOpts{NetworkID: t.ID}
	if t.Type == TypeSubnet {
		filter = ports.ListOpts{FixedIPs: []ports.FixedIPOpts{{SubnetID: t.ID}}}
	}
	pages, err := ports.List(client, filter).AllPages(ctx)
	if err != nil {
		return nil
	}
	list, _ := ports.ExtractPorts(pages)
	return list
}
