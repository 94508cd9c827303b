package faults

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/cause"
)

var update = flag.Bool("update", false, "write docs/reference/causes.md")

// planted is a fault and what has to be said of it.
type planted struct {
	fault string
	// run plants it in the cloud, and returns the objects as CAPO writes them then. If it is
	// nil the fault is shown on objects, and on said if that is set.
	run     func(*world) string
	objects string
	said    *cause.Cloud
	// inside is what the cluster itself says; nil means it was not asked.
	inside *cause.Inside
	// controllers are those on the management cluster; nil means that nobody asked.
	controllers []cause.Controller
	// reason and object are the first finding's.
	reason, object string
	// ending is the first finding's; empty means any.
	ending cause.Ending
}

// one is the answer to one planted fault.
type one struct {
	planted
	answer cause.Answer
	cloud  *cause.Cloud
	took   time.Duration
}

// asked is when those faults are asked about that are shown on objects alone.
var asked = time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)

func (p planted) ask(t *testing.T) one {
	t.Helper()
	changes, said, now := p.objects, p.said, asked
	var w *world
	if p.run != nil {
		w = newWorld(t)
		changes = p.run(w)
	}
	all := objects(t, changes)
	began := time.Now()
	if w != nil {
		said, now = w.ask(all), time.Now().Add(w.later)
	}
	answer := cause.Explain(cause.Snapshot{Objects: all, Cloud: said, Inside: p.inside, Controllers: p.controllers, Now: now})
	return one{p, answer, said, time.Since(began)}
}

// TestEveryFaultHasItsCause: the right reason and the right object, alone and first, in
// less than ten seconds after the cloud knows.
func TestEveryFaultHasItsCause(t *testing.T) {
	t.Parallel()
	all := make([]one, len(cases()))
	t.Run("faults", func(t *testing.T) {
		for i, p := range cases() {
			t.Run(p.fault, func(t *testing.T) {
				t.Parallel()
				o := p.ask(t)
				all[i] = o
				if len(o.answer.Findings) != 1 {
					t.Errorf("%d causes instead of one:", len(o.answer.Findings))
				}
				for _, f := range o.answer.Findings {
					t.Logf("%s [%s, %s] then %v", f.Line(), f.Reason, f.Ending, f.Consequences)
				}
				if len(o.answer.Findings) == 0 {
					return
				}
				f := o.answer.Findings[0]
				if object := known(f.Object.String()); f.Reason != p.reason || object != known(p.object) {
					t.Errorf("reason %s of %s, want %s of %s", f.Reason, f.Object, p.reason, p.object)
				}
				if p.ending != "" && f.Ending != p.ending {
					t.Errorf("its ending is %s, want %s", f.Ending, p.ending)
				}
				if len(f.Chain) < 2 && f.Object.Kind != "Cluster" || f.Chain[0].String() != "Cluster shop" {
					t.Errorf("the chain %v does not lead from the cluster", f.Chain)
				}
				if len(f.Evidence) == 0 || f.Fix == "" || f.Cause == "" || o.took > 10*time.Second {
					t.Errorf("evidence %v, fix %q, cause %q, after %s", f.Evidence, f.Fix, f.Cause, o.took)
				}
			})
		}
	})
	const path = "../../docs/reference/causes.md"
	if t.Failed() {
		return
	}
	if *update {
		if err := os.WriteFile(path, []byte(page(all)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(path); err != nil || untimed(string(text)) != untimed(page(all)) {
		t.Errorf("%s is not what the faults say (%v): run make faults", path, err)
	}
}

// TestNothingIsMadeUp: of a cluster that is well nothing is told, with and without a
// cloud.
func TestNothingIsMadeUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := objects(t, "")
	for name, said := range map[string]*cause.Cloud{"no cloud": nil, "a cloud": w.ask(all), "an empty cloud": {}} {
		if a := cause.Explain(cause.Snapshot{Objects: all, Cloud: said, Inside: inside(), Now: asked}); len(a.Findings) > 0 || len(a.Well) < 4 {
			t.Errorf("%s, and the cluster is asked: %v, well %v", name, a.Findings, a.Well)
		}
		a := cause.Explain(cause.Snapshot{Objects: all, Cloud: said, Now: asked})
		if len(a.Findings) > 0 {
			t.Errorf("%s: %v", name, a.Findings)
		}
		if said == nil && (len(a.Unseen) != 1 || a.Unseen[0].What != "the cloud") {
			t.Errorf("not seen: %v", a.Unseen)
		}
		if name == "a cloud" && len(a.Well) == 0 {
			t.Error("it does not say what is well")
		}
	}
}

// TestAClusterWithoutWorkersIsNotExplained: addons that need workers are as ready as they can
// be, however long.
func TestAClusterWithoutWorkersIsNotExplained(t *testing.T) {
	t.Parallel()
	all := objects(t, `
kind: HelmRelease
metadata: {name: shop-cni-calico}
status: {phase: Pending, conditions: [{type: Ready, status: "False", reason: WaitingForWorkers, message: "it needs a worker", lastTransitionTime: "2026-01-02T08:10:00Z"}]}
`)
	if a := cause.Explain(cause.Snapshot{Objects: all, Now: asked}); len(a.Findings) > 0 {
		t.Errorf("found %v", a.Findings)
	}
}

// TestCasesAreDistinct: each has a name of its own, and a reason that exists.
func TestCasesAreDistinct(t *testing.T) {
	t.Parallel()
	known, seen, layers := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, r := range cause.All() {
		known[r.ID] = true
	}
	for _, p := range cases() {
		if seen[p.fault] || !known[p.reason] {
			t.Errorf("%q is there twice, or its reason %q does not exist", p.fault, p.reason)
		}
		seen[p.fault], layers[p.reason] = true, true
	}
	for _, r := range cause.All() {
		if !layers[r.ID] {
			t.Errorf("no fault is planted for reason %s", r.ID)
		}
	}
}

// seconds is the column of what differs from run to run.
var seconds = regexp.MustCompile(`\| <?\d+\.\d \|`)

func untimed(page string) string { return seconds.ReplaceAllString(page, "| |") }

// page is docs/reference/causes.md.
func page(all []one) string {
	var b strings.Builder
	b.WriteString(`# Planted faults

Each of these faults is planted by ` + "`go test ./test/faults`" + `, and the answer has to be the right
reason about the right object. The table is written by that test.

How a fault is shown: **run** plants it in the sandbox's OpenStack API, without machines, and asks
that cloud as ` + "`slipway why`" + ` does; the objects of Cluster API are written as its controllers write
them then, with the errors that the cloud returned. **objects** means that objects, and sometimes
the cloud's answer or a console, are written by the test in the words of the source code of
Cluster API, its OpenStack provider and Kubernetes: no controller and no machine ran. **inside**
means the same of what the cluster's own API server says: its nodes, pods, webhooks and leases.
Tenants never read those, because the cluster is asked for operators only; their column shows
what they would read. How a real API server is asked is tested in ` + "`internal/cause/inside`" + `.

**seconds** is how long it took to ask the cloud and to find the cause, once the cloud
knew; 0.1 is the least that is shown.

Not planted, because nothing shows it: an MTU that Neutron itself has wrong, because the cables
and switches below it carry less.

| fault | shown by | reason | object | seconds | what the tenant reads in status_reason |
|---|---|---|---|---|---|
`)
	for _, o := range all {
		how := "objects"
		if o.run != nil {
			how = "run"
		}
		if o.inside != nil {
			how = "inside"
		}
		f := o.answer.Findings[0]
		object, words := f.ForTenant(o.cloud)
		fmt.Fprintf(&b, "| %s | %s | [%s](reasons.md) | %s | %.1f | %s |\n", o.fault, how, f.Reason, f.Object.Kind, max(o.took.Seconds(), 0.1), steady(object+": "+words))
	}
	return b.String()
}
