package loadbalancer

import (
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// monitorView is a health monitor as clients see it.
type monitorView struct {
	model.MonitorAttributes
	Pools []ref `json:"pools"`
}

func newMonitorView(hm model.HealthMonitor) monitorView {
	return monitorView{hm.MonitorAttributes, []ref{{hm.PoolID}}}
}

func (s *service) monitorRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /healthmonitors", Role: api.Reader, Handle: s.listMonitors},
		{Pattern: "POST /healthmonitors", Role: api.Member, Handle: s.createMonitor},
		{Pattern: "GET /healthmonitors/{id}", Role: api.Reader, Handle: s.showMonitor},
		{Pattern: "PUT /healthmonitors/{id}", Role: api.Member, Handle: s.updateMonitor},
		{Pattern: "DELETE /healthmonitors/{id}", Role: api.Member, Handle: s.deleteMonitor},
	}
}

func (s *service) monitor(c *api.Call, r store.Reader, id string) (model.HealthMonitor, error) {
	return find(c, r, s.model.Monitors, "Health Monitor", id, func(hm model.HealthMonitor) string { return hm.ProjectID })
}

func (s *service) listMonitors(c *api.Call) error {
	own := map[string]api.Filter[monitorView]{"pool_id": below(func(v monitorView) []ref { return v.Pools })}
	return c.View(func(r store.Reader) error {
		life := func(v monitorView) model.Life { return v.Life }
		return list("healthmonitors", life, own).Reply(c, func(yield func(monitorView) bool) {
			for hm := range s.model.Monitors.All(r) {
				if visible(c, hm.ProjectID) && !yield(newMonitorView(hm)) {
					return
				}
			}
		})
	})
}

func (s *service) showMonitor(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		hm, err := s.monitor(c, r, c.Path("id"))
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"healthmonitor": api.Select(c, newMonitorView(hm))})
	})
}

func (s *service) createMonitor(c *api.Call) error {
	var in monitorInput
	if err := decodeIn(c, "healthmonitor", &in); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		if in.PoolID.Or("") == "" {
			return required("pool_id")
		}
		p, err := s.pool(c, tx, in.PoolID.Value)
		if err != nil {
			return err
		}
		if err := s.lock(tx, p.LoadBalancerID); err != nil {
			return err
		}
		hm, err := s.putMonitor(tx, p, in)
		if err != nil {
			return err
		}
		s.touchPool(tx, p.ID)
		return c.Reply(http.StatusCreated, map[string]any{"healthmonitor": newMonitorView(hm)})
	})
}

// putMonitor checks and adds the monitor of a pool.
func (s *service) putMonitor(tx *store.Tx, p model.Pool, in monitorInput) (model.HealthMonitor, error) {
	hm := model.HealthMonitor{PoolID: p.ID, MonitorAttributes: model.MonitorAttributes{Life: s.newLife(p.ProjectID),
		Type: in.Type, MaxRetriesDown: 3}}
	if err := firstError(in.check(p), in.apply(&hm)); err != nil {
		return hm, err
	}
	if s.model.MonitorsOf.Count(tx, p.ID) > 0 {
		return hm, api.Conflict("This pool already has a health monitor")
	}
	if err := s.exceeded(tx, p.ProjectID, "healthmonitor", "Health Monitor", s.used(tx, p.ProjectID).monitors, 1); err != nil {
		return hm, err
	}
	s.model.Monitors.Put(tx, hm)
	return hm, nil
}

func (s *service) updateMonitor(c *api.Call) error {
	var in monitorChange
	if err := decodeIn(c, "healthmonitor", &in); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		hm, p, err := s.lockMonitor(c, tx)
		if err != nil {
			return err
		}
		if err := in.apply(&hm); err != nil {
			return err
		}
		s.touch(&hm.Life, pendingUpdate)
		s.model.Monitors.Put(tx, hm)
		s.touchPool(tx, p.ID)
		return c.Reply(http.StatusOK, map[string]any{"healthmonitor": newMonitorView(hm)})
	})
}

func (s *service) deleteMonitor(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		hm, p, err := s.lockMonitor(c, tx)
		if err != nil {
			return err
		}
		s.touch(&hm.Life, pendingDelete)
		s.model.Monitors.Put(tx, hm)
		s.touchPool(tx, p.ID)
		return c.Reply(http.StatusNoContent, nil)
	})
}

// lockMonitor finds the monitor in the path and locks its load balancer.
func (s *service) lockMonitor(c *api.Call, tx *store.Tx) (model.HealthMonitor, model.Pool, error) {
	hm, err := s.monitor(c, tx, c.Path("id"))
	if err != nil {
		return hm, model.Pool{}, err
	}
	p, _ := s.model.Pools.Get(tx, hm.PoolID)
	return hm, p, s.lock(tx, p.LoadBalancerID)
}
