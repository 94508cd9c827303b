package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

func stepOf(op apitype.OpType, name string) apitype.StepEventMetadata {
	return apitype.StepEventMetadata{Op: op, URN: urn + name, Type: Provider + ":test:Thing"}
}

func beginning(m apitype.StepEventMetadata, planning bool) events.EngineEvent {
	return events.EngineEvent{EngineEvent: apitype.EngineEvent{ResourcePreEvent: &apitype.ResourcePreEvent{Metadata: m, Planning: planning}}}
}

func ending(m apitype.StepEventMetadata, planning bool) events.EngineEvent {
	return events.EngineEvent{EngineEvent: apitype.EngineEvent{ResOutputsEvent: &apitype.ResOutputsEvent{Metadata: m, Planning: planning}}}
}

func failing(m apitype.StepEventMetadata) events.EngineEvent {
	return events.EngineEvent{EngineEvent: apitype.EngineEvent{ResOpFailedEvent: &apitype.ResOpFailedEvent{Metadata: m}}}
}

func saying(d apitype.DiagnosticEvent) events.EngineEvent {
	return events.EngineEvent{EngineEvent: apitype.EngineEvent{DiagnosticEvent: &d}}
}

// told is what users see of events.
func told(r *event.Recorder) (all []string) {
	for _, e := range r.Events() {
		all = append(all, strings.TrimSpace(string(e.State)+" "+e.Step+" "+e.Message+e.Error))
	}
	return all
}

// TestStepsOfTheEngineAreTold in our words, each with its end; what the engine does for itself, or only
// plans, is not.
func TestStepsOfTheEngineAreTold(t *testing.T) {
	t.Parallel()
	for op, want := range map[apitype.OpType][2]string{
		apitype.OpCreate: {"creating", "created"}, apitype.OpUpdate: {"changing", "changed"}, apitype.OpDelete: {"deleting", "deleted"},
		apitype.OpCreateReplacement: {"creating the replacement", "replaced"}, apitype.OpDeleteReplaced: {"deleting the old one", "old one deleted"},
		apitype.OpImport: {"importing", "imported"}, apitype.OpSame: {}, apitype.OpReplace: {},
	} {
		r := &event.Recorder{}
		w := newWatcher(r, &failures{})
		w.handle(beginning(stepOf(op, "net"), false))
		w.handle(ending(stepOf(op, "net"), false))
		w.handle(ending(stepOf(op, "net"), false)) // a second end is of nothing
		text := strings.Join(told(r), ", ")
		if want[0] == "" && text != "" || want[0] != "" && text != "started net "+want[0]+", done net "+want[1] {
			t.Errorf("%s: %s", op, text)
		}
		if took := w.report().Took; (len(took) == 1) != (want[0] != "") || len(took) == 1 && (took[0].Name != "net" || took[0].Operation != string(op)) {
			t.Errorf("%s took %v", op, took)
		}
	}
	r := &event.Recorder{}
	w := newWatcher(r, &failures{})
	own := stepOf(apitype.OpCreate, "provider")
	own.Type = "pulumi:providers:slipway"
	w.handle(beginning(own, false))
	w.handle(ending(own, false))
	w.handle(beginning(own, true))
	w.handle(beginning(stepOf(apitype.OpCreate, "net"), true))
	w.handle(ending(stepOf(apitype.OpCreate, "net"), true))
	if plan := w.report().plan; len(told(r)) > 0 || len(plan.Changes) != 1 || plan.Changes[0].Name != "net" || plan.Changes[0].Operation != Create {
		t.Errorf("a plan of %+v told %q", plan.Changes, told(r))
	}
}

// TestAReadingShowsWhatDiffers when it ends, and is no step.
func TestAReadingShowsWhatDiffers(t *testing.T) {
	t.Parallel()
	r := &event.Recorder{}
	w := newWatcher(r, &failures{})
	w.handle(beginning(stepOf(apitype.OpRefresh, "net"), false))
	gone := stepOf(apitype.OpDelete, "net")
	w.handle(ending(gone, false))
	w.handle(ending(gone, false))
	if plan := w.report().plan; len(told(r)) > 0 || len(plan.Changes) != 1 || plan.Changes[0].Operation != Delete {
		t.Errorf("%+v; told %q", plan, told(r))
	}
}

// TestAStepThatFailsHasItsOwnCause, in the order in which causes came, each once.
func TestAStepThatFailsHasItsOwnCause(t *testing.T) {
	t.Parallel()
	r, f := &event.Recorder{}, &failures{}
	w := newWatcher(r, f)
	quota, host := fault.New("net", errors.New("no quota"), "raise it"), errors.New("no valid host")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	f.add(t.Context(), urn+"seed", host)
	f.add(t.Context(), urn+"net", errors.New("no quota yet"))
	f.add(t.Context(), urn+"net", quota)
	f.add(t.Context(), urn+"twin", host)
	f.add(t.Context(), urn+"fine", nil)
	f.add(ended, urn+"late", errors.New("context canceled"))
	for _, name := range []string{"net", "other"} {
		w.handle(beginning(stepOf(apitype.OpCreate, name), false))
		w.handle(failing(stepOf(apitype.OpCreate, name)))
	}
	if got := strings.Join(told(r), ", "); got != "started net creating, failed net net: no quota, started other creating, failed other failed" {
		t.Errorf("told %s", got)
	}
	if all := f.all(); all == nil || all.Error() != "no valid host\nnet: no quota" || fault.Remedy(all) != "raise it" {
		t.Errorf("all are %v", all)
	}
	if err := w.explain(errors.New("exit status 255")); fault.ExitCode(err) != fault.ExitPartial || fault.Remedy(err) != "raise it" {
		t.Errorf("after something was done: %v (exit %d)", err, fault.ExitCode(err))
	}
	w.took = nil
	if err := w.explain(errors.New("exit status 255")); fault.ExitCode(err) != fault.ExitFailure {
		t.Errorf("after nothing was done: %v (exit %d)", err, fault.ExitCode(err))
	}
	for said, want := range map[string]error{noStack: errNoStack, "the stack is currently locked by 1: created by a@b (pid 3) at x": &Locked{}} {
		err := newWatcher(r, &failures{}).explain(errors.New(said))
		if locked := new(Locked); want == errNoStack && !errors.Is(err, errNoStack) || want != errNoStack && !errors.As(err, &locked) {
			t.Errorf("%q: %v", said, err)
		}
	}
}

// TestErrorsOfEachCallAreKept: they would lose cause and remedy on their way through the engine.
func TestErrorsOfEachCallAreKept(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	f := &failures{}
	provider := f.wrap(p.Provider{
		Create: func(context.Context, p.CreateRequest) (p.CreateResponse, error) {
			return p.CreateResponse{ID: "c"}, broken
		},
		Update: func(context.Context, p.UpdateRequest) (p.UpdateResponse, error) { return p.UpdateResponse{}, broken },
		Read:   func(context.Context, p.ReadRequest) (p.ReadResponse, error) { return p.ReadResponse{ID: "r"}, broken },
		Delete: func(context.Context, p.DeleteRequest) error { return broken },
		Check:  func(context.Context, p.CheckRequest) (p.CheckResponse, error) { return p.CheckResponse{}, broken },
		Diff: func(context.Context, p.DiffRequest) (p.DiffResponse, error) {
			return p.DiffResponse{HasChanges: true}, broken
		},
	})
	made, create := provider.Create(t.Context(), p.CreateRequest{Urn: "create"})
	_, update := provider.Update(t.Context(), p.UpdateRequest{Urn: "update"})
	found, read := provider.Read(t.Context(), p.ReadRequest{Urn: "read"})
	remove := provider.Delete(t.Context(), p.DeleteRequest{Urn: "delete"})
	_, check := provider.Check(t.Context(), p.CheckRequest{Urn: "check"})
	differs, diff := provider.Diff(t.Context(), p.DiffRequest{Urn: "diff"})
	for call, err := range map[resource.URN]error{"create": create, "update": update, "read": read, "delete": remove, "check": check, "diff": diff} {
		if !errors.Is(err, broken) || !errors.Is(f.of(call), broken) {
			t.Errorf("%s: %v, kept %v", call, err, f.of(call))
		}
	}
	if made.ID != "c" || found.ID != "r" || !differs.HasChanges {
		t.Errorf("the answers are %v, %v, %v", made, found, differs)
	}
}

// TestWhatTheEngineSaysIsSorted: what a step waits for, errors, and warnings but for what is repaired here.
func TestWhatTheEngineSaysIsSorted(t *testing.T) {
	t.Parallel()
	r := &event.Recorder{}
	w := newWatcher(r, &failures{})
	w.handle(beginning(stepOf(apitype.OpCreate, "net"), false))
	for _, d := range []apitype.DiagnosticEvent{
		{URN: urn + "net", Message: "waiting for the tide", Severity: "info", Ephemeral: true},
		{URN: urn + "other", Message: "not running", Severity: "error", Ephemeral: true},
		{URN: urn + "net", Message: "error: no room", Severity: "error"},
		{URN: urn + "net", Message: "deprecated", Severity: "warning"},
		{URN: urn + "net", Message: "there are pending operations", Severity: "warning"},
		{URN: urn + "net", Message: "chatter", Severity: "info"},
	} {
		w.handle(saying(d))
	}
	if got := strings.Join(told(r), ", "); got != "started net creating, waiting net waiting for the tide, note net deprecated" {
		t.Errorf("told %s", got)
	}
	if err := w.explain(errors.New("exit status 255")); err == nil || err.Error() != "no room" {
		t.Errorf("the error is %v", err)
	}
}

// TestReportsCountWhatChanged, the slowest step first; nothing changed if the outputs are those of the state.
func TestReportsCountWhatChanged(t *testing.T) {
	t.Parallel()
	outputs := func(answer string) *apitype.StepEventStateMetadata {
		return &apitype.StepEventStateMetadata{Outputs: map[string]any{"answer": answer}}
	}
	root := apitype.StepEventMetadata{Op: apitype.OpSame, Type: string(resource.RootStackType), Old: outputs("42"), New: outputs("42")}
	for name, test := range map[string]struct {
		change func(*apitype.StepEventMetadata)
		counts map[apitype.OpType]int
		same   bool
	}{
		"nothing":            {nil, map[apitype.OpType]int{apitype.OpSame: 3}, true},
		"a resource":         {nil, map[apitype.OpType]int{apitype.OpSame: 2, apitype.OpCreate: 1}, false},
		"an output":          {func(m *apitype.StepEventMetadata) { m.New = outputs("43") }, nil, false},
		"the first time":     {func(m *apitype.StepEventMetadata) { m.Old = nil }, nil, false},
		"the last time":      {func(m *apitype.StepEventMetadata) { m.New = nil }, nil, false},
		"of a resource only": {func(m *apitype.StepEventMetadata) { m.Type = Provider + ":test:Thing" }, nil, false},
	} {
		w := newWatcher(event.Discard{}, &failures{})
		m := root
		if test.change != nil {
			test.change(&m)
		}
		w.handle(ending(m, false))
		w.handle(events.EngineEvent{EngineEvent: apitype.EngineEvent{SummaryEvent: &apitype.SummaryEvent{ResourceChanges: map[apitype.OpType]int{}}}})
		w.handle(events.EngineEvent{EngineEvent: apitype.EngineEvent{SummaryEvent: &apitype.SummaryEvent{ResourceChanges: test.counts}}})
		w.took = []Took{{Name: "quick", Duration: 1}, {Name: "slow", Duration: 3}, {Name: "middle", Duration: 2}}
		report := w.report()
		if _, counted := report.Changes[string(apitype.OpSame)]; report.same != test.same || counted || len(report.Changes) != max(len(test.counts)-1, 0) {
			t.Errorf("%s: the same %t, changes %v", name, report.same, report.Changes)
		}
		if report.Took[0].Name != "slow" || report.Took[2].Name != "quick" {
			t.Errorf("%s: in the order %v", name, report.Took)
		}
	}
}

// TestADeadlineNamesTheStepsUnderWay, with what they waited for last; another end does not.
func TestADeadlineNamesTheStepsUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, silent := range []bool{true, false} { // whether the engine sends anything after the end
			w := newWatcher(event.Discard{}, &failures{})
			ctx, cancel := context.WithCancelCause(t.Context())
			stream, stop := w.watch(ctx)
			stream <- beginning(stepOf(apitype.OpCreate, "net"), false)
			stream <- beginning(stepOf(apitype.OpCreate, "seed"), false)
			stream <- saying(apitype.DiagnosticEvent{URN: urn + "seed", Message: "waiting for the tide", Ephemeral: true})
			time.Sleep(7 * time.Second)
			cancel(fault.Deadline{After: 5 * time.Second})
			if !silent {
				stream <- ending(stepOf(apitype.OpCreate, "net"), false)
			}
			synctest.Wait()
			stop()
			err := w.halted(context.Cause(ctx))
			if err == nil || err.Error() != "net: not done after 5s: running for 7s\nseed: not done after 5s: running for 7s; last seen: waiting for the tide" || fault.Remedy(err) != fault.Resume {
				t.Errorf("%v (%s)", err, fault.Remedy(err))
			}
			if err := w.halted(fault.ErrInterrupted); err != fault.ErrInterrupted {
				t.Errorf("interrupted: %v", err)
			}
		}
		w := newWatcher(event.Discard{}, &failures{})
		stream, stop := w.watch(t.Context())
		close(stream) // as the Automation API does
		synctest.Wait()
		stop()
		if err := w.halted(fault.Deadline{After: time.Second}); err == nil || err.Error() != "not done after 1s" {
			t.Errorf("before anything began: %v", err)
		}
	})
}
