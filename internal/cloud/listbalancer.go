package cloud

import (
	"context"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
)

func listListeners(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) (err error) {
	s.Listeners, err = every(ctx, listeners.List(client, listeners.ListOpts{ProjectID: s.Token.ProjectID}), listeners.ExtractListeners, func(l listeners.Listener) ListenerInfo {
		info := ListenerInfo{Resource: resource("listener", l.ID, l.Name, l.Tags, nil, l.Description), PoolID: l.DefaultPoolID, Port: l.ProtocolPort,
			Provisioning: l.ProvisioningStatus, Disabled: !l.AdminStateUp, AllowedCIDRs: l.AllowedCIDRs}
		for _, b := range l.Loadbalancers {
			info.BalancerIDs = append(info.BalancerIDs, b.ID)
		}
		return info
	})
	return err
}

// listPools counts members, because the list has only their ids.
func listPools(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) (err error) {
	s.Pools, err = every(ctx, pools.List(client, pools.ListOpts{ProjectID: s.Token.ProjectID}), pools.ExtractPools, func(p pools.Pool) PoolInfo {
		info := PoolInfo{Resource: resource("pool", p.ID, p.Name, p.Tags, nil, p.Description), Members: len(p.Members), Provisioning: p.ProvisioningStatus, Disabled: !p.AdminStateUp}
		for _, b := range p.Loadbalancers {
			info.BalancerIDs = append(info.BalancerIDs, b.ID)
		}
		return info
	})
	return err
}
