package network

import (
	"context"
	"sync"

	"github.com/slipway-sh/slipway/internal/sandbox/fabric/plan"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
	"github.com/slipway-sh/slipway/internal/sandbox/transition"
)

// run ends what takes time: ports and floating IPs becoming ACTIVE.
func (n *Core) run(ctx context.Context) {
	var loops sync.WaitGroup
	loops.Go(func() {
		transition.Run(ctx, n.env.Timing, n.env.Events, transition.Table[model.Port]{
			Name: "ports", Store: n.env.Store, Records: n.model.Ports,
			Pending: func(v model.Port) *transition.Pending { return v.Pending },
			End: func(tx *store.Tx, v model.Port, to string) error {
				v.Pending, v.Status = nil, to
				n.model.Ports.Put(tx, v)
				return nil
			}})
	})
	loops.Go(func() {
		transition.Run(ctx, n.env.Timing, n.env.Events, transition.Table[model.FloatingIP]{
			Name: "floating IPs", Store: n.env.Store, Records: n.model.FloatingIPs,
			Pending: func(v model.FloatingIP) *transition.Pending { return v.Pending },
			End: func(tx *store.Tx, v model.FloatingIP, to string) error {
				v.Pending, v.Status = nil, to
				n.model.FloatingIPs.Put(tx, v)
				return nil
			}})
	})
	if n.env.Host.Name() != "none" {
		follower := plan.Follower{Store: n.env.Store, Model: &n.model, Cards: n, Fabric: n.env.Host.Fabric(), Events: n.env.Events}
		loops.Go(func() { follower.Run(ctx) })
	}
	loops.Wait()
}
