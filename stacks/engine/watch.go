package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag/colors"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Report is the result of an operation.
type Report struct {
	// Changes counts resources by operation: create, update, replace, delete.
	Changes map[string]int `json:"changes"`
	// Took lists the processed resources, slowest first.
	Took []Took `json:"took"`

	plan Plan
	// same says that the state has what it had: no resource was changed, and no output.
	same bool
}

// Took is the duration of one resource.
type Took struct {
	Name      string        `json:"name"`
	Operation string        `json:"operation"`
	Duration  time.Duration `json:"-"`
	Seconds   float64       `json:"seconds"`
}

// watcher turns the engine's events into ours and collects them.
type watcher struct {
	sink     event.Sink
	failures *failures

	steps   map[string]*event.Step // by URN
	waiting map[string]string      // by URN, the last message of a step
	reading map[string]bool        // by URN, in a refresh
	changes []Change
	took    []Took
	errors  []string
	cut     map[string]error // by name, what steps waited for when the operation was stopped
	counts  map[string]int
	kept    bool // the outputs of the program are those that the state has
}

func newWatcher(sink event.Sink, failures *failures) *watcher {
	return &watcher{sink: sink, failures: failures, steps: map[string]*event.Step{}, waiting: map[string]string{}, reading: map[string]bool{}, counts: map[string]int{}}
}

// watch returns the channel for the engine's events, and a function that returns when all
// earlier events are handled. The Automation API closes the channel only if the engine
// got as far as sending events. When ctx ends, the running steps are recorded, because
// the engine then ends them.
func (w *watcher) watch(ctx context.Context) (chan<- events.EngineEvent, func()) {
	stream, stop, done := make(chan events.EngineEvent), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		over := ctx.Done()
		for {
			select {
			case <-over:
				w.cut, over = w.underWay(), nil
			case e, open := <-stream:
				if !open {
					return
				}
				if over != nil && ctx.Err() != nil { // both were there to choose from
					w.cut, over = w.underWay(), nil
				}
				w.handle(e)
			case <-stop:
				return
			}
		}
	}()
	return stream, func() { close(stop); <-done }
}

// underWay describes each running step: since when it runs, and what it waits for.
func (w *watcher) underWay() map[string]error {
	steps := map[string]error{}
	for urn, step := range w.steps {
		text := "running for " + step.Elapsed().Round(time.Second).String()
		if last := w.waiting[urn]; last != "" {
			text += "; last seen: " + last
		}
		steps[nameOf(urn)] = errors.New(text)
	}
	return steps
}

// halted is the error of an operation whose context ended; after a deadline it names the
// steps that were running.
func (w *watcher) halted(cause error) error {
	if !errors.As(cause, new(fault.Deadline)) || len(w.cut) == 0 {
		return cause
	}
	var list []error
	for _, name := range slices.Sorted(maps.Keys(w.cut)) {
		list = append(list, &fault.Fault{Exit: fault.ExitDeadline, Object: name, Err: fmt.Errorf("%w: %w", cause, w.cut[name]), Remedy: fault.Resume})
	}
	return errors.Join(list...)
}

func (w *watcher) handle(e events.EngineEvent) {
	switch {
	case e.ResourcePreEvent != nil:
		w.begin(e.ResourcePreEvent.Metadata, e.ResourcePreEvent.Planning)
	case e.ResOutputsEvent != nil:
		w.kept = w.kept || keeps(e.ResOutputsEvent.Metadata)
		w.end(e.ResOutputsEvent.Metadata, e.ResOutputsEvent.Planning, nil)
	case e.ResOpFailedEvent != nil:
		m := e.ResOpFailedEvent.Metadata
		w.end(m, false, w.cause(m.URN))
	case e.DiagnosticEvent != nil:
		w.diagnose(e.DiagnosticEvent)
	case e.SummaryEvent != nil:
		for op, n := range e.SummaryEvent.ResourceChanges {
			w.counts[string(op)] = n
		}
	}
}

func (w *watcher) begin(m apitype.StepEventMetadata, planning bool) {
	if !ours(m.Type) {
		return
	}
	if m.Op == apitype.OpRefresh { // its end shows the result
		w.reading[m.URN] = true
		return
	}
	if planning {
		w.changes = append(w.changes, changeOf(m))
		return
	}
	if message := working(m.Op); message != "" {
		w.steps[m.URN] = event.Start(w.sink, nameOf(m.URN), message)
	}
}

func (w *watcher) end(m apitype.StepEventMetadata, planning bool, err error) {
	if !ours(m.Type) {
		return
	}
	if w.reading[m.URN] {
		delete(w.reading, m.URN)
		w.changes = append(w.changes, refreshed(m))
		return
	}
	step, ok := w.steps[m.URN]
	if !ok || planning {
		return
	}
	delete(w.steps, m.URN)
	delete(w.waiting, m.URN)
	step.End(ended(m.Op), err)
	took := step.Elapsed()
	w.took = append(w.took, Took{nameOf(m.URN), string(m.Op), took, took.Seconds()})
}

func (w *watcher) cause(urn string) error {
	if err := w.failures.of(resource.URN(urn)); err != nil {
		return err
	}
	return errors.New("failed")
}

func (w *watcher) diagnose(d *apitype.DiagnosticEvent) {
	text := clean(d.Message)
	switch step := w.steps[d.URN]; {
	case d.Ephemeral && step != nil:
		w.waiting[d.URN] = text
		step.Wait(text)
	case d.Ephemeral:
	case d.Severity == "error":
		w.errors = append(w.errors, text)
	case d.Severity == "warning" && !strings.Contains(text, "pending operations"):
		w.sink.Emit(event.Event{Time: time.Now(), Step: nameOf(d.URN), State: event.Note, Message: text})
	}
}

func (w *watcher) report() Report {
	slices.SortStableFunc(w.took, func(a, b Took) int { return int(b.Duration - a.Duration) })
	changes := map[string]int{}
	for op, n := range w.counts {
		if op != string(apitype.OpSame) {
			changes[op] = n
		}
	}
	return Report{Changes: changes, Took: w.took, plan: newPlan(w.changes), same: w.kept && len(changes) == 0}
}

// explain returns the error of an operation: the resources' own errors if there are any,
// else the engine's message, else the output of its process.
func (w *watcher) explain(err error) error {
	if err == nil {
		return nil
	}
	exit := fault.ExitFailure
	if len(w.took) > 0 {
		exit = fault.ExitPartial
	}
	if causes := w.failures.all(); causes != nil {
		if exit == fault.ExitFailure { // nothing was done: it is what its cause is
			exit = fault.ExitCode(causes)
		}
		return &fault.Fault{Exit: exit, Err: causes}
	}
	if known := known(err, err.Error()); errors.Is(known, errNoStack) || isFault(known) {
		return known
	}
	if len(w.errors) > 0 {
		return &fault.Fault{Exit: exit, Err: errors.New(strings.Join(slices.Compact(w.errors), "; "))}
	}
	return &fault.Fault{Exit: exit, Err: err}
}

func isFault(err error) bool {
	var f *fault.Fault
	return errors.As(err, &f)
}

// working says what is being done to a resource; it is empty for steps that do nothing in
// the cloud.
func working(op apitype.OpType) string {
	switch op {
	case apitype.OpCreate:
		return "creating"
	case apitype.OpUpdate:
		return "changing"
	case apitype.OpDelete:
		return "deleting"
	case apitype.OpCreateReplacement:
		return "creating the replacement"
	case apitype.OpDeleteReplaced:
		return "deleting the old one"
	case apitype.OpImport:
		return "importing"
	}
	return ""
}

// ended says what was done to a resource.
func ended(op apitype.OpType) string {
	switch op {
	case apitype.OpCreate:
		return "created"
	case apitype.OpUpdate:
		return "changed"
	case apitype.OpDelete:
		return "deleted"
	case apitype.OpCreateReplacement:
		return "replaced"
	case apitype.OpDeleteReplaced:
		return "old one deleted"
	case apitype.OpImport:
		return "imported"
	}
	return ""
}

// ours reports whether a resource belongs to the program, rather than to the engine (the
// stack, providers).
func ours(resourceType string) bool { return strings.HasPrefix(resourceType, Provider+":") }

// keeps reports whether an event is that of the program's end, with the outputs that the state has.
// The engine hides secrets in it: those come from resources, and change with them.
func keeps(m apitype.StepEventMetadata) bool {
	return m.Type == string(resource.RootStackType) && m.Old != nil && m.New != nil && reflect.DeepEqual(m.Old.Outputs, m.New.Outputs)
}

func nameOf(urn string) string { return resource.URN(urn).Name() }

// clean removes the engine's colour marks and prefixes from a message.
func clean(text string) string {
	text = colors.Never.Colorize(text)
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "error: "))
}
