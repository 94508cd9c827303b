package openstack

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/slipway-sh/slipway/internal/event"
)

// Sweep deletes things by their marks, without a state: what a killed run
// made, or everything if the state is lost. Things of a type go at the same
// time, types in the order of Inventory.List. What cannot be deleted does not
// keep the rest from going; its errors are joined.
func (i Inventory) Sweep(ctx context.Context, things []Thing, events event.Sink) error {
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
				err := times(ctx, deletingAttempts, func() error { return i.remove(ctx, t) })
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
			return context.Cause(ctx)
		}
	}
	return errors.Join(errs...)
}

func (i Inventory) remove(ctx context.Context, t Thing) error {
	switch t.Type {
	case ThingServer:
		return serverKind{i}.remove(ctx, t.ID, ServerState{})
	case ThingFloatingIP:
		return floatingKind{i}.remove(ctx, t.ID, FloatingIPState{})
	case ThingRouter:
		if err := i.unplug(ctx, t.ID); err != nil {
			return err
		}
		return routerKind{i}.remove(ctx, t.ID, RouterState{})
	case ThingPort:
		return portKind{i}.remove(ctx, t.ID, PortState{})
	case ThingSubnet:
		return subnetKind{i}.remove(ctx, t.ID, SubnetState{})
	case ThingNetwork:
		return networkKind{i}.remove(ctx, t.ID, NetworkState{})
	case ThingSecurityGroup:
		return groupKind{i}.remove(ctx, t.ID, SecurityGroupState{})
	case ThingVolume:
		return volumeKind{i}.remove(ctx, t.ID, VolumeState{})
	case ThingImage:
		return imageKind{i}.remove(ctx, t.ID, ImageState{})
	case ThingKeyPair:
		return keyPairKind{i}.remove(ctx, t.ID, KeyPairState{})
	case ThingCredential:
		return credentialKind{i, i.UserID}.remove(ctx, t.ID, ApplicationCredentialState{})
	}
	return fmt.Errorf("unknown type %q", t.Type)
}

// unplug removes the interfaces of a router, without which it cannot go.
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
