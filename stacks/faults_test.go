package stacks_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks"
)

// changing are the calls of `up` that change something, by service and path.
func changing() []faultinject.Rule {
	return []faultinject.Rule{
		{Service: "network", Method: "POST", Path: "/v2.0/networks"},
		{Service: "network", Method: "PUT", Path: "/v2.0/networks/*/tags"},
		{Service: "network", Method: "POST", Path: "/v2.0/subnets"},
		{Service: "network", Method: "POST", Path: "/v2.0/routers"},
		{Service: "network", Method: "PUT", Path: "/v2.0/routers/*/add_router_interface"},
		{Service: "network", Method: "POST", Path: "/v2.0/security-groups"},
		{Service: "network", Method: "POST", Path: "/v2.0/security-group-rules"},
		{Service: "network", Method: "DELETE", Path: "/v2.0/security-group-rules/*"},
		{Service: "network", Method: "POST", Path: "/v2.0/ports"},
		{Service: "network", Method: "POST", Path: "/v2.0/floatingips"},
		{Service: "image", Method: "POST", Path: "/v2/images"},
		{Service: "image", Method: "PUT", Path: "/v2/images/*/file"},
		{Service: "volumev3", Method: "POST", Path: "/v3/*/volumes"},
		{Service: "compute", Method: "POST", Path: "/v2.1/os-keypairs"},
		{Service: "compute", Method: "POST", Path: "/v2.1/servers"},
		{Service: "compute", Method: "GET", Path: "/v2.1/servers/*"},
		{Service: "identity", Method: "POST", Path: "/v3/users/*/application_credentials"},
	}
}

// TestEveryCallMayFailOnce answers each call of `up` once with trouble: it
// converges in the same run.
func TestEveryCallMayFailOnce(t *testing.T) {
	t.Parallel()
	for _, trouble := range []faultinject.Rule{
		{Status: http.StatusInternalServerError}, {Status: http.StatusServiceUnavailable}, {Status: http.StatusConflict}, {Drop: true},
	} {
		name := fmt.Sprintf("status %d", trouble.Status)
		if trouble.Drop {
			name = "no answer"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := sandboxtest.Start(t)
			w := newWorld(t, cloud, plain)
			for _, call := range changing() {
				call.Status, call.Drop, call.Times = trouble.Status, trouble.Drop, 1
				if _, err := cloud.Env.Faults.Add(call); err != nil {
					t.Fatal(err)
				}
			}
			w.up(t)
			var missed []string
			for _, rule := range cloud.Env.Faults.List() {
				if rule.Hits == 0 && rule.Method != "DELETE" {
					missed = append(missed, rule.Method+" "+rule.Path)
				}
			}
			if len(missed) > 0 {
				t.Errorf("these calls were never made: %v", missed)
			}
			if report := w.up(t); len(report.Changes) != 0 {
				t.Errorf("not converged: %v", report.Changes)
			}
			for _, thing := range w.things(t) {
				w.only(t, thing.Step)
			}
		})
	}
}

// TestCausesAreNamed lets things fail for good: the error has the object, the
// cloud's own words and a remedy, and comes at once.
func TestCausesAreNamed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rule faultinject.Rule
		want []string
	}{
		"no host":       {faultinject.Rule{Kind: faultinject.NoValidHost, Service: "compute"}, []string{"server prod-seed", "No valid host", "flavor"}},
		"no backend":    {faultinject.Rule{Kind: faultinject.NoValidHost, Service: "volumev3"}, []string{"volume prod-seed-data", "state error", "weighted backend"}},
		"volume quota":  {faultinject.Rule{Kind: faultinject.Quota, Service: "volumev3", Resource: "volumes"}, []string{"volume prod-seed-data", "uota", "preflight"}},
		"network quota": {faultinject.Rule{Kind: faultinject.Quota, Service: "network"}, []string{"prod-", "uota", "preflight"}},
		"forbidden":     {faultinject.Rule{Service: "network", Method: "POST", Path: "/v2.0/routers", Status: http.StatusForbidden}, []string{"router prod-router", "403", "role"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := sandboxtest.Start(t)
			w := newWorld(t, cloud, plain)
			if _, err := cloud.Env.Faults.Add(test.rule); err != nil {
				t.Fatal(err)
			}
			_, err := w.run(t).Up(t.Context(), w.env.Program)
			if err == nil {
				t.Fatal("it came through")
			}
			text := report(err)
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q has no %q", text, want)
				}
			}
			if err := cloud.Env.Faults.Clear(); err != nil {
				t.Fatal(err)
			}
			w.up(t)
			if !slices.ContainsFunc(w.events.Events(), isDone(stacks.StepSeed)) {
				t.Error("the seed was never done")
			}
			if _, err := w.run(t).Destroy(t.Context()); err != nil {
				t.Fatal(err)
			}
			if left := w.things(t); len(left) > 0 {
				t.Errorf("left: %+v", left)
			}
		})
	}
}
