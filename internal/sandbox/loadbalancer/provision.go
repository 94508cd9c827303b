package loadbalancer

import (
	"context"
	"time"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/reconcile"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// healthEvery is how often a driver is asked how members are.
const healthEvery = time.Second

// provision makes the driver follow the load balancers until the context
// ends.
func (s *service) provision(ctx context.Context) {
	reconcile.Loop{Name: "load balancers", Feed: s.model.Balancers.Subscribe(), Work: s.work, Workers: 4,
		Clock: s.env.Timing.Clock, Events: s.env.Events}.Run(ctx)
}

// work looks at one load balancer: an operation that is due ends, and one
// that works is asked for the health of its members.
func (s *service) work(ctx context.Context, id string) (time.Duration, error) {
	var lb model.LoadBalancer
	found := false
	if err := s.env.Store.View(func(r store.Reader) error {
		lb, found = s.model.Balancers.Get(r, id)
		return nil
	}); err != nil || !found {
		return 0, err
	}
	if lb.Pending == nil {
		return s.watch(ctx, lb)
	}
	if wait := lb.Pending.At.Sub(s.env.Timing.Now()); wait > 0 {
		return wait, nil
	}
	if lb.Pending.To == deleted {
		return 0, s.remove(ctx, lb)
	}
	ok := !s.env.Faults.Hit(faultinject.BalancerError, "load-balancer", lb.Name)
	if ok {
		ok = s.apply(ctx, lb)
	}
	if !ok && ctx.Err() != nil {
		return 0, ctx.Err() // done again by the next process
	}
	return 0, s.end(lb, func(tx *store.Tx) error {
		s.finish(tx, lb, ok)
		if ok {
			s.judge(tx, lb.ID, nil)
		}
		return nil
	})
}

// end changes a load balancer if its operation is still the one that was
// worked on.
func (s *service) end(lb model.LoadBalancer, change func(tx *store.Tx) error) error {
	return s.env.Store.Update(func(tx *store.Tx) error {
		now, ok := s.model.Balancers.Get(tx, lb.ID)
		if !ok || now.Pending == nil || *now.Pending != *lb.Pending {
			return nil
		}
		return change(tx)
	})
}

// apply gives the load balancer to the driver and reports whether it took it.
func (s *service) apply(ctx context.Context, lb model.LoadBalancer) bool {
	spec, err := s.spec(lb.ID)
	if err == nil {
		err = s.env.Host.Balancers().ApplyBalancer(ctx, spec)
	}
	if err != nil {
		s.env.Events.Emit(event.Event{Time: s.env.Timing.Now(), State: event.Note, Step: "load balancers",
			Message: lb.Name + " " + lb.ID, Error: err.Error()})
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.applied[lb.ID] = true
	return true
}

func (s *service) remove(ctx context.Context, lb model.LoadBalancer) error {
	if err := s.env.Host.Balancers().DeleteBalancer(ctx, lb.ID); err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.applied, lb.ID)
	s.mu.Unlock()
	return s.end(lb, func(tx *store.Tx) error { return s.drop(tx, lb) })
}

// watch applies a load balancer that this process has not applied yet, which
// is so after a restart, and writes down how its members are.
func (s *service) watch(ctx context.Context, lb model.LoadBalancer) (time.Duration, error) {
	if lb.ProvisioningStatus != active {
		return 0, nil
	}
	s.mu.Lock()
	known := s.applied[lb.ID]
	s.mu.Unlock()
	if !known && !s.apply(ctx, lb) {
		return 10 * time.Second, nil
	}
	health, err := s.env.Host.Balancers().MemberHealth(ctx, lb.ID)
	if err != nil {
		return 0, err
	}
	err = s.env.Store.Update(func(tx *store.Tx) error {
		if now, ok := s.model.Balancers.Get(tx, lb.ID); ok && now.Pending == nil {
			s.judge(tx, lb.ID, report(health))
		}
		return nil
	})
	if health == nil {
		return 0, err // a driver that checks nothing need not be asked again
	}
	return healthEvery, err
}
