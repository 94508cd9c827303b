package plan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// Sweeper is a fabric that outlives its process: Sweep removes networks and routers except those,
// by id, that are to be kept.
type Sweeper interface {
	Sweep(ctx context.Context, networks, routers map[string]bool) error
}

// Follower reconciles a fabric with the model.
type Follower struct {
	Store  *store.Store
	Model  *model.Networking
	Cards  Cards
	Fabric machine.Fabric
	Events event.Sink

	done Plan
}

const (
	// settle is the time for which changes are collected, to apply them together.
	settle = 5 * time.Millisecond
	// retry is the time until a retry after an error.
	retry = time.Second
)

// Run reconciles the fabric until the context ends.
func (f *Follower) Run(ctx context.Context) {
	f.done = Plan{map[string]machine.Network{}, map[string]machine.Router{}, map[string]machine.Filter{}}
	changed := make(chan struct{}, 1)
	changed <- struct{}{}
	var feeds sync.WaitGroup
	for _, feed := range f.feeds() {
		feeds.Go(func() { pass(ctx, feed, changed) })
	}
	defer feeds.Wait()
	var again <-chan time.Time
	for first := true; ; {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-again:
		}
		again = nil
		time.Sleep(settle)
		err := f.follow(ctx, first)
		if err != nil && ctx.Err() == nil {
			f.Events.Emit(event.Event{Time: time.Now(), State: event.Note, Step: "networks", Error: err.Error()})
			again = time.After(retry)
		}
		first = first && err != nil
	}
}

func (f *Follower) feeds() []*store.Feed {
	m := f.Model
	return []*store.Feed{m.Networks.Subscribe(), m.Subnets.Subscribe(), m.Ports.Subscribe(), m.Routers.Subscribe(),
		m.FloatingIPs.Subscribe(), m.Groups.Subscribe(), m.Rules.Subscribe(), m.AddressGroups.Subscribe()}
}

func pass(ctx context.Context, feed *store.Feed, changed chan<- struct{}) {
	defer feed.Close()
	for {
		if _, err := feed.Next(ctx); err != nil {
			return
		}
		select {
		case changed <- struct{}{}:
		default:
		}
	}
}

func (f *Follower) follow(ctx context.Context, sweep bool) error {
	var want Plan
	if err := f.Store.View(func(r store.Reader) error {
		want = Of(r, f.Model, f.Cards)
		return nil
	}); err != nil {
		return fmt.Errorf("reading the networks: %w", err)
	}
	if s, ok := f.Fabric.(Sweeper); ok && sweep {
		if err := s.Sweep(ctx, ids(want.Networks), ids(want.Routers)); err != nil {
			return err
		}
	}
	return f.apply(ctx, want)
}

func ids[T any](m map[string]T) map[string]bool {
	out := map[string]bool{}
	for id := range m {
		out[id] = true
	}
	return out
}

// apply creates first what others need, and removes it last. What fails is retried later; the rest
// is done.
func (f *Follower) apply(ctx context.Context, want Plan) error {
	return errors.Join(
		set(ctx, f.done.Networks, want.Networks, f.Fabric.ApplyNetwork),
		set(ctx, f.done.Routers, want.Routers, f.Fabric.ApplyRouter),
		set(ctx, f.done.Filters, want.Filters, f.Fabric.ApplyFilter),
		unset(ctx, f.done.Filters, want.Filters, f.Fabric.DeleteFilter),
		unset(ctx, f.done.Routers, want.Routers, f.Fabric.DeleteRouter),
		unset(ctx, f.done.Networks, want.Networks, f.Fabric.DeleteNetwork))
}

func set[T any](ctx context.Context, done, want map[string]T, apply func(context.Context, T) error) error {
	var err error
	for _, id := range slices.Sorted(maps.Keys(want)) {
		if have, ok := done[id]; ok && reflect.DeepEqual(have, want[id]) {
			continue
		}
		var partly T // what an error leaves is not as wanted, but must go when that is not wanted any more
		done[id] = partly
		if e := apply(ctx, want[id]); e != nil {
			err = errors.Join(err, e)
			continue
		}
		done[id] = want[id]
	}
	return err
}

func unset[T any](ctx context.Context, done, want map[string]T, remove func(context.Context, string) error) error {
	var err error
	for _, id := range slices.Sorted(maps.Keys(done)) {
		if _, ok := want[id]; ok {
			continue
		}
		if e := remove(ctx, id); e != nil {
			err = errors.Join(err, e)
			continue
		}
		delete(done, id)
	}
	return err
}
