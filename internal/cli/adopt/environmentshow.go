package adopt

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/migrate"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/takeover"
	"github.com/slipway-sh/slipway/stacks/workload/adopt"
)

// environmentReport is what the command prints as data.
type environmentReport struct {
	*takeover.Plan
	// Files are those that are written; Settings what became of the release's values.
	Files    []string       `json:"files,omitempty"`
	Settings []migrate.Note `json:"settings,omitempty"`
	files    map[string]string
	// unconverted is why there is no environment file, which nobody asked for.
	unconverted error
}

func (o *environmentOptions) show(streams ui.Streams, r *environmentReport, last string) error {
	t := ui.Table{Header: []string{"CLUSTER", "OBJECT", "VERSION", "DIFFERENCES", "VERDICT"}}
	for _, c := range r.Clusters {
		t.Rows = append(t.Rows, rows(c)...)
		for _, line := range c.Settings {
			t.Footer = append(t.Footer, string(c.Role)+": "+line)
		}
		t.Footer = append(t.Footer, string(c.Role)+": "+untouched(c))
		if c.State != takeover.New {
			t.Footer = append(t.Footer, fmt.Sprintf("%s: it is %s", c.Role, stateText(c.State)))
		}
	}
	if r.Release != nil {
		t.Rows = append(t.Rows, []string{string(takeover.Seed), "release " + r.Release.Key().String(), r.Release.MadeBy, fmt.Sprint(len(r.Release.Differences)), string(r.Release.Verdict)})
	}
	if r.Release != nil && r.Release.Verdict == adopt.Adopt {
		t.Footer = append(t.Footer, fmt.Sprintf("release %s: %d machines, %d of them would be replaced; slipway adopt cluster %s --dry-run lists its differences", r.Release.Key(), r.Release.Machines, r.Rolls, r.Release.Name))
	}
	if len(r.Settings) > 0 {
		counts := map[migrate.Level]int{}
		for _, note := range r.Settings {
			counts[note.Level]++
		}
		t.Footer = append(t.Footer, fmt.Sprintf("environment file: %d values converted, %d to check, %d secret (-o json lists them)", counts[migrate.Converted], counts[migrate.Changed], counts[migrate.Secret]))
	}
	if r.unconverted != nil {
		t.Footer = append(t.Footer, "environment file: it cannot be made: "+r.unconverted.Error())
	}
	for _, file := range r.Files {
		t.Footer = append(t.Footer, "environment file: "+file)
	}
	t.Footer = append(t.Footer, fmt.Sprintf("%d machines would be made, deleted or replaced", r.Rolls), last)
	return ui.Output(streams.Out, o.format, r, t)
}

// rows are the objects of a cluster. What stays, of which there may be thousands, is one row
// for each kind.
func rows(c *takeover.Cluster) [][]string {
	var all [][]string
	kept := map[string]int{}
	for _, item := range c.Items {
		if item.Verdict == takeover.Keep || item.Verdict == takeover.Same {
			kind, _, _ := strings.Cut(item.Object, " ")
			kept[kind+"\x00"+string(item.Verdict)]++
			continue
		}
		all = append(all, []string{string(c.Role), item.Object, item.Version, count(len(item.Differences)), string(item.Verdict)})
	}
	for _, key := range slices.Sorted(maps.Keys(kept)) {
		kind, verdict, _ := strings.Cut(key, "\x00")
		all = append(all, []string{string(c.Role), fmt.Sprintf("%d × %s", kept[key], kind), "", "", verdict})
	}
	return all
}

func count(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// untouched says of which objects of Cluster API none is written.
func untouched(c *takeover.Cluster) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(c.Untouched)) {
		if n := c.Untouched[kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d × %s", n, kind))
		}
	}
	if len(parts) == 0 {
		return "it has no object of Cluster API"
	}
	return "not written: " + strings.Join(parts, ", ")
}

func stateText(s takeover.State) string {
	switch s {
	case takeover.Interrupted:
		return "adopted half-way; the command continues"
	case takeover.Ours:
		return "Slipway's already"
	}
	return "adopted already"
}
