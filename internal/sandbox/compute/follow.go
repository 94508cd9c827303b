package compute

import (
	"context"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/reconcile"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// followPorts removes cards from servers when somebody deletes their ports in Neutron, and has
// cards plugged again whose ports got other addresses there.
func (s *service) followPorts(ctx context.Context) {
	work := func(_ context.Context, id string) (time.Duration, error) {
		var holders []model.Server
		there, addresses := false, ""
		err := s.env.Store.View(func(r store.Reader) error {
			var card machine.Port
			card, there = s.ports.Card(r, id)
			addresses = addressesOf(card)
			for v := range s.model.ServersWith.Each(r, id) {
				if !there || moved(&v, id, addresses) != nil {
					holders = append(holders, v)
				}
			}
			return nil
		})
		if err != nil || len(holders) == 0 {
			return 0, err
		}
		return 0, s.env.Store.Update(func(tx *store.Tx) error {
			for _, v := range holders {
				s.model.Servers.Change(tx, v.ID, func(n *model.Server) {
					if !there {
						leave(n, id)
					} else if p := moved(n, id, addresses); p != nil {
						p.Plugged = false
					}
				})
			}
			return nil
		})
	}
	reconcile.Loop{Name: "cards", Feed: s.env.Model.Network.Ports.Subscribe(), Work: work,
		Clock: s.env.Timing.Clock, Events: s.env.Events}.Run(ctx)
}

// addressesOf returns the addresses of a card as a text that changes when they change; it is never
// empty.
func addressesOf(card machine.Port) string {
	words := []string{"addresses"}
	for _, a := range card.Addresses {
		words = append(words, a.Prefix.String())
	}
	return strings.Join(words, " ")
}

// moved returns the card of a port, if the machine has it with other addresses.
func moved(n *model.Server, portID, addresses string) *model.ServerPort {
	for i := range n.Ports {
		p := &n.Ports[i]
		if p.PortID == portID && p.Plugged && !p.Leaving && p.Addresses != "" && p.Addresses != addresses {
			return p
		}
	}
	return nil
}

// leave marks the card of a port as one to remove.
func leave(n *model.Server, portID string) bool {
	for i := range n.Ports {
		if n.Ports[i].PortID == portID && !n.Ports[i].Leaving {
			n.Ports[i].Leaving = true
			return true
		}
	}
	return false
}
