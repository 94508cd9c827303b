package kubernetes

import (
	"context"

	p "github.com/pulumi/pulumi-go-provider"
)

// lookAtPath warns of an MTU that is wrong: Slipway sends small packets, but nobody else does.
func (h host) lookAtPath(ctx context.Context) {
	if h.LosesFullPackets(ctx) {
		p.GetLogger(ctx).Warning("the network loses packets of full size between here and " + h.Host() + ", while small ones arrive: an MTU is wrong. " +
			"Slipway sends small ones and continues. If you use a VPN, lower its MTU. Else servers may wait for each other in vain: " +
			"compare the network's MTU (openstack network show) with what the cloud's tunnels carry")
	}
}
