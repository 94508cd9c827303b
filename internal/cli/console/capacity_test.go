package console

import (
	"slices"
	"testing"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/console"
	"github.com/slipway-sh/slipway/internal/preflight"
)

// TestQuotasWithTheirHealth: what is missing, what is nearly used up, and what has no limit.
func TestQuotasWithTheirHealth(t *testing.T) {
	t.Parallel()
	got := capacity(preflight.Result{
		Findings: []preflight.Finding{{ID: "quota", Level: preflight.Error, Object: "quota cores", Cause: "it needs 4", Remedy: "ask for more"}, {Level: preflight.Info}},
		Capacity: preflight.Capacity{
			Quotas: []preflight.Need{{Service: cloud.Compute, Resource: "cores", Need: 4, Used: 18, Limit: 20, Short: 2}, {Resource: "ram", Need: 1, Used: 8, Limit: 10}, {Resource: "ports", Used: 100, Limit: -1}, {Resource: "networks", Used: 3, Limit: 10}},
			Room:   []preflight.Room{{Group: "md-0", Flavor: "m1.large", Machines: 0, Bound: "cores"}, {Group: "big", Machines: -1}},
		}})
	var states, counts []string
	for _, q := range got.Quotas {
		states, counts = append(states, string(q.Health())+" "+q.State().String()), append(counts, q.Count(q.Left).String())
	}
	if want := []string{"broken 2 missing", "changing nearly used up", "well ok", "well ok"}; !slices.Equal(states, want) {
		t.Errorf("%q, want %q", states, want)
	}
	if want := []string{"0", "1", "no limit", "7"}; !slices.Equal(counts, want) {
		t.Errorf("left are %q, want %q", counts, want)
	}
	if got.Quotas[0] != (console.Quota{Service: "compute", Resource: "cores", Used: 18, Limit: 20, Needed: 4, Short: 2}) {
		t.Errorf("%+v", got.Quotas[0])
	}
	if len(got.Room) != 2 || got.Room[0] != (console.Room{Group: "md-0", Flavor: "m1.large", Bound: "cores"}) || got.Room[0].Health() != console.Changing || got.Room[1].Count().String() != "no limit" {
		t.Errorf("%+v", got.Room)
	}
	if len(got.Checks) != 2 || got.Checks[0] != (console.Check{Level: "error", ID: "quota", Object: "quota cores", Cause: "it needs 4", Fix: "ask for more"}) || got.Checks[0].Health() != console.Broken || got.Checks[1].Health() != console.Well {
		t.Errorf("%+v", got.Checks)
	}
}
