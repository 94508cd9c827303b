package adopt

import (
	"fmt"
	"strconv"

	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/workload/adopt"
)

// show prints a plan.
func show(streams ui.Streams, format string, plan *adopt.Plan, last string) error {
	return ui.Output(streams.Out, format, plan, table(plan, last))
}

// table has a row for each cluster, and below it what is to be known of each.
func table(plan *adopt.Plan, last string) ui.Table {
	t := ui.Table{Header: []string{"NAMESPACE", "NAME", "MADE BY", "VERSION", "MACHINES", "ROLLS", "VERDICT"}}
	counts := map[adopt.Verdict]int{}
	for _, c := range plan.Clusters {
		counts[c.Verdict]++
		t.Rows = append(t.Rows, []string{c.Namespace, c.Name, c.MadeBy, c.Version, strconv.Itoa(c.Machines), strconv.Itoa(c.Rolls), string(c.Verdict)})
		say := func(format string, args ...any) {
			t.Footer = append(t.Footer, "cluster "+c.Key().String()+": "+fmt.Sprintf(format, args...))
		}
		for _, note := range c.Notes {
			say("%s", note)
		}
		if c.Verdict == adopt.Ours {
			continue
		}
		if len(c.Kept) > 0 {
			say("%d objects of its addons stay as they are", len(c.Kept))
		}
		for _, one := range c.NoCounterpart {
			say("no counterpart: %s", one)
		}
		for _, d := range c.Differences {
			say("%s: %s %s has %v, its values say %v", d.When, d.Object, d.Path, word(d.Has), word(d.Values))
		}
	}
	t.Footer = append(t.Footer, fmt.Sprintf("%d to adopt, %d as they are, %d ours, %d refused", counts[adopt.Adopt], counts[adopt.AsItIs], counts[adopt.Ours], counts[adopt.Refuse]))
	if last != "" {
		t.Footer = append(t.Footer, last)
	}
	return t
}

// word is a value in a sentence.
func word(value any) any {
	if value == nil {
		return "nothing"
	}
	return value
}
