package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestExitCode(t *testing.T) {
	t.Parallel()
	preflight := &Fault{Exit: ExitPreflight, Err: errors.New("quota")}
	tests := map[string]struct {
		err  error
		want Exit
	}{
		"nothing":                   {nil, ExitOK},
		"a plain error":             {errors.New("x"), ExitFailure},
		"a wrapped fault":           {fmt.Errorf("up: %w", preflight), ExitPreflight},
		"the outer of two faults":   {&Fault{Exit: ExitPartial, Err: Usage("x", errors.New("y"), "z")}, ExitPartial},
		"an interrupt":              {fmt.Errorf("building: %w", ErrInterrupted), ExitInterrupted},
		"an interrupt among others": {errors.Join(errors.New("x"), context.Canceled), ExitInterrupted},
		"a deadline, told as the end of a context": {fmt.Errorf("%w: %w", Deadline{time.Minute}, context.Canceled), ExitDeadline},
		"a deadline within faults":                 {New("item", fmt.Errorf("creating: %w", Deadline{time.Minute}), ""), ExitDeadline},
		"an interrupt within faults":               {New("item", ErrInterrupted, ""), ExitInterrupted},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := ExitCode(test.err); got != test.want {
				t.Errorf("exit code %d, want %d", got, test.want)
			}
		})
	}
}

func TestEveryExitCodeHasAMeaning(t *testing.T) {
	t.Parallel()
	last := Exit(-1)
	for _, m := range Meanings() {
		if m.Code <= last || m.Name == "" || m.Text == "" {
			t.Errorf("%+v: out of order or without words", m)
		}
		last = m.Code
	}
	if last != ExitInterrupted || len(Meanings()) != 7 {
		t.Errorf("%d meanings up to %d", len(Meanings()), last)
	}
}

func TestAllLooksThroughJoinsOnly(t *testing.T) {
	t.Parallel()
	a, b, c := errors.New("a"), errors.New("b"), New("object", errors.New("c"), "do")
	partial := &Fault{Exit: ExitPartial, Err: errors.Join(a, errors.Join(b, c))}
	if got := All(partial); len(got) != 3 || got[0] != a || got[1] != b || got[2] != error(c) {
		t.Errorf("%v, want a, b and c", got)
	}
	wrapped := fmt.Errorf("context: %w", errors.Join(a, b))
	if got := All(wrapped); len(got) != 1 || got[0] != wrapped {
		t.Errorf("%v, want the wrapped join as it is", got)
	}
	if got := All(nil); got != nil {
		t.Errorf("%v of nil", got)
	}
}

func TestRemedyIsTheOutermost(t *testing.T) {
	t.Parallel()
	inner := New("disk", errors.New("full"), "free space")
	if got := Remedy(fmt.Errorf("storing: %w", &Fault{Err: inner})); got != "free space" {
		t.Errorf("remedy %q", got)
	}
	if got := Remedy(New("item", inner, "run again")); got != "run again" {
		t.Errorf("remedy %q", got)
	}
	if got := Remedy(errors.New("x")); got != "" {
		t.Errorf("remedy %q of a plain error", got)
	}
}

func TestOverdueNamesTheDeadlineOnce(t *testing.T) {
	t.Parallel()
	ctx, stop := WithDeadline(t.Context(), time.Nanosecond)
	defer stop()
	<-ctx.Done()
	for _, err := range []error{context.Canceled, context.Cause(ctx), New("server x", context.Cause(ctx), "")} {
		got := Overdue(ctx, err)
		if ExitCode(got) != ExitDeadline || Remedy(got) != Resume || strings.Count(got.Error(), "not done after 1ns") != 1 {
			t.Errorf("%v became %v (exit code %d, remedy %q)", err, got, ExitCode(got), Remedy(got))
		}
	}
	if Overdue(ctx, nil) != nil {
		t.Error("done is an error")
	}
	never, stop := WithDeadline(t.Context(), 0)
	other := errors.New("quota exceeded")
	if got := Overdue(never, other); got != other || never.Err() != nil {
		t.Errorf("without a deadline: %v (%v)", got, never.Err())
	}
	stop()
	if got := Overdue(never, other); got != other {
		t.Errorf("after the end: %v", got)
	}
}
