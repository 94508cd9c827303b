package target

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/engine"
)

var (
	errNoUser    = errors.New("the login has no user")
	errNoProject = errors.New("the login has no project")
)

// WritePlan prints a plan as text: one line per resource, below it what differs.
func WritePlan(w io.Writer, plan engine.Plan) {
	for _, change := range plan.Changes {
		fmt.Fprintf(w, "%s %-8s %-22s %s\n", sign(change.Operation), change.Operation, change.Name, Kind(change.Type))
		for _, p := range change.Properties {
			reason := ""
			if p.Replaces {
				reason = "  (cannot be changed in place)"
			}
			fmt.Fprintf(w, "    %s: %s → %s%s\n", p.Path, Value(p.Old), Value(p.New), reason)
		}
	}
	fmt.Fprintln(w, Summary(plan))
}

// Summary counts a plan in one line.
func Summary(plan engine.Plan) string {
	if plan.Empty() {
		return fmt.Sprintf("no changes, %d unchanged", plan.Counts[engine.Same])
	}
	var words []string
	for _, o := range []engine.Operation{engine.Create, engine.Update, engine.Replace, engine.Delete} {
		if n := plan.Counts[o]; n > 0 {
			words = append(words, fmt.Sprintf("%d to %s", n, o))
		}
	}
	return strings.Join(append(words, fmt.Sprintf("%d unchanged", plan.Counts[engine.Same])), ", ")
}

func sign(o engine.Operation) string {
	switch o {
	case engine.Create:
		return "+"
	case engine.Delete:
		return "-"
	case engine.Replace:
		return "±"
	}
	return "~"
}

// Kind is a resource's type in readable form: "openstack SecurityGroup".
func Kind(of string) string { return strings.ReplaceAll(of, ":", " ") }

// Value is an input in readable form: secrets are hidden, and long texts cut.
func Value(v any) string {
	if engine.IsSecret(v) {
		return "[secret]"
	}
	text := strings.TrimSpace(fmt.Sprint(v))
	first, _, more := strings.Cut(text, "\n") // a certificate, a document
	letters := []rune(text)
	switch {
	case v == nil || text == "":
		return "(none)"
	case more && utf8.RuneCountInString(first) <= 57:
		return first + "..."
	case len(letters) > 60:
		return string(letters[:57]) + "..."
	}
	return text
}

// Confirm asks a question on standard error and reads the answer; any answer but
// y or yes means no. The end of ctx ends the wait for it, which reading does not notice.
func Confirm(ctx context.Context, streams ui.Streams, question string) error {
	fmt.Fprintf(streams.Err, "%s [y/N] ", question)
	answered := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(streams.In).ReadString('\n')
		answered <- line
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(streams.Err) // below the question
		return context.Cause(ctx)
	case line := <-answered:
		if slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(line))) {
			return nil
		}
		return fault.Usage("answer", errors.New("not confirmed: nothing was changed"), "answer y, or use --yes")
	}
}

// WriteReport prints what an operation did, and its slowest steps.
func WriteReport(w io.Writer, report engine.Report) {
	table := ui.Table{Header: []string{"RESOURCE", "OPERATION", "TOOK"}}
	for _, took := range report.Took {
		table.Rows = append(table.Rows, []string{took.Name, took.Operation, ui.Duration(took.Duration)})
	}
	if len(table.Rows) > 0 {
		_ = ui.Output(w, "table", nil, table) // a reader that went away is no failure of the work
	}
}
