package console_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/console"
	"github.com/slipway-sh/slipway/internal/console/consoletest"
	"github.com/slipway-sh/slipway/internal/console/words"
	"github.com/slipway-sh/slipway/internal/fault"
)

// counting counts how often a plan is read.
type counting struct {
	*consoletest.Sources
	plans atomic.Int32
}

func (c *counting) Plan(ctx context.Context) (console.Plan, error) {
	c.plans.Add(1)
	return c.Sources.Plan(ctx)
}

// atRest is a world in which nothing runs.
func atRest() consoletest.World {
	w := consoletest.Whole()
	w.Runs = w.Runs[1:]
	return w
}

// TestThePlanSaysWhatUpWouldDo, what it replaces, and why it would refuse.
func TestThePlanSaysWhatUpWouldDo(t *testing.T) {
	t.Parallel()
	b := enter(t, consoletest.New(atRest()))
	_, body := b.get(t, "/plan")
	for _, want := range []string{"slipway plan --env prod", "slipway up --env prod", "2 to update, 1 to replace, 41 unchanged", "at most 4 of 5", "3 of 3", "0 of 32", "about 9m", "2 instances (4 left)", "capo v0.13.0 → v0.14.2",
		"which workload clusters there are: no answer", "kubernetesVersion: 1.33.5", "cannot be changed in place", "This cannot be done now.", "Fix: delete what you do not need"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q:\n%s", want, body)
		}
	}
	if strings.Contains(body, "This plan is old") {
		t.Errorf("it is new:\n%s", body)
	}
	b = enter(t, consoletest.New(consoletest.World{Plan: console.Plan{Summary: words.T("no changes, %d unchanged", 44)}}))
	if _, body := b.get(t, "/plan"); !strings.Contains(body, "Nothing would change") || !strings.Contains(body, "no changes, 44 unchanged") || strings.Contains(body, "What is replaced") {
		t.Errorf("without changes:\n%s", body)
	}
}

// TestAPlanIsReadWhenAskedAndNotBesideARun: a run that is going on gets a note instead, and one
// that ended makes the plan old. Reading other pages again reads no plan.
func TestAPlanIsReadWhenAskedAndNotBesideARun(t *testing.T) {
	t.Parallel()
	sources := &counting{Sources: consoletest.New(consoletest.Whole())}
	b := enter(t, sources)
	_, body := b.get(t, "/plan")
	if sources.plans.Load() != 0 || !strings.Contains(body, "No plan is read beside a run.") || strings.Contains(body, "Asking for the first time") {
		t.Fatalf("beside a run %d were read:\n%s", sources.plans.Load(), body)
	}
	sources.Change(func(w *consoletest.World) { w.Runs = atRest().Runs })
	token := again(t, b, "/plan", "41 unchanged")
	for range 3 {
		b.get(t, "/plan")
	}
	again2(t, b, token, "/clusters", "k8s-3")
	b.get(t, "/plan")
	if n := sources.plans.Load(); n != 1 {
		t.Errorf("%d plans were read, want the one of opening", n)
	}
	sources.Change(func(w *consoletest.World) {
		w.Runs = slices.Clone(w.Runs)
		w.Runs[0].Started, w.Runs[0].Ended = time.Now(), time.Now().Add(time.Second)
		w.Plan.Summary = words.Said("another plan")
	})
	again2(t, b, token, "/log", "succeeded") // the log is new
	if body := await(t, b, "/plan", "This plan is old."); !strings.Contains(body, "41 unchanged") {
		t.Errorf("the plan of before is gone:\n%s", body)
	}
	again2(t, b, token, "/plan", "another plan")
	if n := sources.plans.Load(); n != 2 {
		t.Errorf("%d plans were read, want one more", n)
	}
	sources.Change(func(w *consoletest.World) { w.Err = consoletest.Away() })
	if body := again2(t, b, token, "/plan", "connection refused"); !strings.Contains(body, "another plan") {
		t.Errorf("the plan of before is gone:\n%s", body)
	}
}

// TestARefusedPlanIsShort: a bundle that lacks all has a cause for each item. The first ones have
// a banner each, with their fix, and the page lives.
func TestARefusedPlanIsShort(t *testing.T) {
	t.Parallel()
	var causes []error
	for i := range 20 {
		causes = append(causes, &fault.Fault{Exit: fault.ExitPreflight, Object: "bundle /bundle", Err: fmt.Errorf("item-%d is missing from it", i), Remedy: "run slipway bundle build"})
	}
	sources := refusing{consoletest.New(atRest()), &fault.Fault{Exit: fault.ExitPreflight, Err: errors.Join(causes...)}}
	b := enter(t, sources)
	status, body := b.get(t, "/plan")
	if n := strings.Count(body, "Could not read the plan."); status != http.StatusOK || n != 5 || !strings.Contains(body, "item-3 is missing") || strings.Contains(body, "item-4 is missing") || !strings.Contains(body, "There are 16 more causes.") ||
		!strings.Contains(body, "Fix: run slipway bundle build") {
		t.Errorf("%d, %d banners:\n%s", status, n, body)
	}
}

// refusing has no plan.
type refusing struct {
	*consoletest.Sources
	err error
}

func (r refusing) Plan(context.Context) (console.Plan, error) { return console.Plan{}, r.err }
