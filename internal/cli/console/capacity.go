package console

import (
	"context"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/console"
	"github.com/slipway-sh/slipway/internal/preflight"
	"github.com/slipway-sh/slipway/stacks"
)

// Capacity is what slipway preflight prints.
func (s *sources) Capacity(ctx context.Context) (console.Capacity, error) {
	if s.loaded == nil {
		return console.Capacity{}, s.missing
	}
	c, err := cloud.Open(ctx, environment.CloudOptions(s.loaded))
	if err != nil {
		return console.Capacity{}, err
	}
	defer c.Close()
	result, err := environment.Check(ctx, c, s.loaded, stacks.Steps(), nil)
	if err != nil {
		return console.Capacity{}, err
	}
	return capacity(result), nil
}

// capacity is a result of preflight as the console shows it.
func capacity(result preflight.Result) (all console.Capacity) {
	for _, q := range result.Capacity.Quotas {
		all.Quotas = append(all.Quotas, console.Quota{Service: string(q.Service), Resource: q.Resource, Used: q.Used, Limit: q.Limit, Needed: q.Need, Left: q.Left(), Short: q.Short})
	}
	for _, r := range result.Capacity.Room {
		all.Room = append(all.Room, console.Room(r))
	}
	for _, f := range result.Findings {
		all.Checks = append(all.Checks, console.Check{Level: string(f.Level), ID: f.ID, Object: f.Object, Cause: f.Cause, Fix: f.Remedy})
	}
	return all
}
