package console

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/backup/record"
	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cli/overview"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/console"
	"github.com/slipway-sh/slipway/internal/console/words"
	"github.com/slipway-sh/slipway/stacks/engine"
	"github.com/slipway-sh/slipway/stacks/openstack"
	"github.com/slipway-sh/slipway/stacks/workload"
)

func report(name string, ready bool) clusterapi.Report {
	r := clusterapi.Report{Namespace: "prod", Name: name, Exists: true, Version: "v1.34.4", ControlPlane: clusterapi.Count{Ready: 3, Wanted: 3},
		Parts: []clusterapi.Part{{Kind: "Cluster", Name: name, State: "Available", Ready: true}, {Kind: "Machine", Name: name + "-w1", Level: 2, State: "Running", Ready: true}}}
	if !ready {
		r.Parts[0].State, r.Parts[0].Ready = "Provisioned", false
		r.Parts[1].State, r.Parts[1].Ready, r.Parts[1].Cause = "Pending", false, "Quota exceeded for cores"
		r.Findings = []cause.Finding{{Reason: "quota", Object: cause.Ref{Kind: "server", Name: name + "-w1"}, Cause: "Quota exceeded for cores", Source: "Nova", Fix: "raise it", Ending: cause.Final,
			Chain: []cause.Ref{{Kind: "Cluster", Name: name}, {Kind: "server", Name: name + "-w1"}}}}
	}
	return r
}

// TestTheTreeOfAnEnvironment: clusters that are ready take a line each, up to a number; of the
// others there is everything, and the health of each part.
func TestTheTreeOfAnEnvironment(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	o := overview.Overview{Environment: "prod", Cloud: "sandbox", Resources: []openstack.Resource{{Type: "server", Name: "prod-seed", State: "ACTIVE"}, {Type: "load balancer", Name: "api", State: "PENDING_UPDATE"}, {Type: "volume", Name: "v", State: "ERROR"}},
		Seed: []overview.Component{{Kind: "Deployment", Name: "capi", State: "0/1 available"}, {Kind: "Node", Name: "prod-seed", State: "Ready", Ready: true}}}
	for i := range mostReady + 5 {
		o.Clusters = append(o.Clusters, overview.Cluster{On: "management", Report: report(fmt.Sprintf("k8s-%d", i), true)})
	}
	o.Clusters = append(o.Clusters, overview.Cluster{On: "management", Report: report("ill", false)})
	e := tree(o, now)
	if e.Health != console.Broken || len(e.Groups) != 3 {
		t.Fatalf("%+v", e)
	}
	var healths []console.Health
	for _, g := range e.Groups[:2] {
		for _, r := range g.Rows {
			healths = append(healths, r.Health)
		}
	}
	if want := []console.Health{console.Well, console.Changing, console.Broken, console.Broken, console.Well}; !slices.Equal(healths, want) {
		t.Errorf("%v, want %v", healths, want)
	}
	rows := e.Groups[2].Rows
	if len(rows) != mostReady+3 || rows[mostReady].Label.String() != "ill (on the management)" || rows[mostReady].Health != console.Changing || rows[mostReady+1].Cause != "Quota exceeded for cores" ||
		rows[mostReady+1].Health != console.Broken || rows[mostReady+1].Level != 2 || rows[mostReady+2].Label.String() != "5 more" {
		t.Errorf("%+v", rows[mostReady:])
	}
	o.Unreachable = "no answer in 30s"
	if got := tree(o, now); got.Note.String() != "Incomplete: no answer in 30s." {
		t.Errorf("%+v", got)
	}
	if got := tree(overview.Overview{Environment: "prod"}, now); got.Health != console.Unknown || len(got.Groups) > 0 {
		t.Errorf("of nothing: %+v", got)
	}
	alone := overview.Overview{Resources: o.Resources[:1], Note: target.NoSeed}
	if got := tree(alone, now); got.Health != console.Well || len(got.Groups) != 2 {
		t.Errorf("without a seed: %+v", got)
	}
}

// TestTheVerdictAndTheSummaryAreThoseOfTheCommands, in English.
func TestTheVerdictAndTheSummaryAreThoseOfTheCommands(t *testing.T) {
	t.Parallel()
	all, err := words.Ours()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	server := []openstack.Resource{{Type: "server", Name: "prod-seed", State: "ACTIVE"}}
	seed := []overview.Component{{Kind: "Deployment", Name: "capi", State: "1/1", Ready: true}, {Kind: "Node", Ready: true}}
	clusters := []overview.Cluster{{On: "management", Report: report("k8s", true)}}
	for _, o := range []overview.Overview{
		{Environment: "prod", Cloud: "sandbox"}, {Resources: server, Seed: seed}, {Resources: append(server, server...), Seed: append(seed, seed...), Clusters: append(clusters, clusters...)}, {Resources: server, Note: target.NoSeed, Clusters: clusters},
		{Resources: server}, {Resources: server, Seed: seed, Clusters: []overview.Cluster{{On: "management", Report: report("ill", false)}}}, {Resources: []openstack.Resource{{Type: "server", Name: "prod-seed", State: "ERROR"}}}, {Resources: server, Unreachable: "no answer."},
	} {
		if got, want := tree(o, now).Verdict.In(all.English()), o.Verdict(now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, p := range []engine.Plan{{Counts: map[engine.Operation]int{engine.Same: 1}}, {Changes: []engine.Change{{}}, Counts: map[engine.Operation]int{engine.Same: 4, engine.Create: 1, engine.Update: 2, engine.Replace: 3, engine.Delete: 5}}, {Changes: []engine.Change{{}}, Counts: map[engine.Operation]int{engine.Delete: 1}}} {
		if got, want := summary(p).In(all.English()), target.Summary(p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestAnEnvironmentWithManyIllClusters stays readable: some with their objects, and where the
// others are.
func TestAnEnvironmentWithManyIllClusters(t *testing.T) {
	t.Parallel()
	var all []overview.Cluster
	for i := range mostIll + 80 {
		r := report(fmt.Sprintf("ill-%d", i), false)
		for range 100 {
			r.Parts = append(r.Parts, r.Parts[1])
		}
		all = append(all, overview.Cluster{On: "management", Report: r})
	}
	rows := clusterRows(all)
	if want := mostIll*(mostObjects+1) + 1; len(rows) != want {
		t.Fatalf("%d rows, want %d", len(rows), want)
	}
	if last := rows[len(rows)-1]; last.Label.String() != "80 more: see Clusters" || last.Health != console.Broken {
		t.Errorf("%+v", last)
	}
	if cut := rows[mostObjects]; cut.Label.String() != "77 more objects: see the cluster's page" || rows[mostObjects+1].Label.String() != "ill-1 (on the management)" {
		t.Errorf("%+v", cut)
	}
}

// TestAClusterWithItsCauses keeps what describe and why print.
func TestAClusterWithItsCauses(t *testing.T) {
	t.Parallel()
	d := description(workload.Description{MadeBy: workload.Magnum, Report: report("ill", false), Tenant: &workload.Tenant{Name: "web", ProjectID: "p1"}, Details: "conditions"})
	if d.Ready || d.Cause != "Quota exceeded for cores" || d.Phase != "Provisioned" || d.Tenant != "web" || d.Project != "p1" || len(d.Rows) != 2 || d.Details != "conditions" || d.MadeBy != string(workload.Magnum) {
		t.Errorf("%+v", d)
	}
	if len(d.Findings) != 1 || !d.Findings[0].Final || d.Findings[0].Object != "server ill-w1" || d.Findings[0].Fix != "raise it" || !slices.Equal(d.Findings[0].Chain, []string{"Cluster ill", "server ill-w1"}) {
		t.Errorf("%+v", d.Findings)
	}
	if well := description(workload.Description{Report: report("well", true)}); !well.Ready || well.Cause != "" || well.Health() != console.Well {
		t.Errorf("%+v", well)
	}
}

// TestBackupsWithTheirHealth for the lines of slipway status.
func TestBackupsWithTheirHealth(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	good := record.Schedule{Every: 3600, LastSuccess: now.Add(-30 * time.Minute), Backup: "b1"}
	failing, late := good, good
	failing.Error = "there is no space left"
	late.LastSuccess = now.Add(-5 * time.Hour)
	for name, test := range map[string]struct {
		state record.State
		want  console.Health
	}{
		"good": {record.State{Schedule: &good}, console.Well}, "failing": {record.State{Schedule: &failing}, console.Changing}, "late": {record.State{Schedule: &late}, console.Broken},
		"a failed drill": {record.State{Drill: &record.Drill{Failed: []string{"x"}}}, console.Broken}, "a passed drill": {record.State{Drill: &record.Drill{Passed: true}}, console.Well},
		"no drill": {record.State{Watch: &record.Watch{Every: 3600, Since: now.Add(-30 * time.Hour)}}, console.Changing},
	} {
		lines := overview.Overview{Backups: test.state}.BackupLines(now)
		if len(lines) != 1 || health(lines[0].Condition) != test.want {
			t.Errorf("%s: %+v", name, lines)
		}
	}
}

// TestTheConnectionIsSharedAndOpenedAnew: two readings use one; after a failure the next opens
// another, and the old one is closed when its last user is done.
func TestTheConnectionIsSharedAndOpenedAnew(t *testing.T) {
	t.Parallel()
	opened, closed := 0, 0
	c := connection{open: func(context.Context) (*workload.Management, func(), error) {
		opened++
		return nil, func() { closed++ }, nil
	}}
	broken := errors.New("connection reset")
	use := func(do func() error) error {
		return c.with(t.Context(), func(*workload.Management) error { return do() })
	}
	well := func() error { return nil }
	if use(well) != nil || use(well) != nil || opened != 1 || closed != 0 {
		t.Errorf("%d opened, %d closed", opened, closed)
	}
	err := use(func() error { // while one reads, another fails, and a third comes
		if err := use(func() error { return broken }); !errors.Is(err, broken) || closed != 0 {
			t.Errorf("%v, %d closed", err, closed)
		}
		return use(well)
	})
	if err != nil || opened != 2 || closed != 1 {
		t.Errorf("%v: %d opened, %d closed", err, opened, closed)
	}
	if c.close(); closed != 2 {
		t.Errorf("%d closed in the end", closed)
	}
	c.open = func(context.Context) (*workload.Management, func(), error) { return nil, nil, broken }
	if err := use(well); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}
