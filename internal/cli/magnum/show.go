package magnum

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/slipway-sh/slipway/addons/magnum/moving"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// next says what can be done after an import.
func (o *options) next(written int) string {
	switch {
	case o.canary != "":
		return "Slipway manages this cluster now: do not change it with Magnum any more."
	case o.adopt:
		return "Slipway manages what it could adopt. Now let the catalog's endpoint container-infra lead to Slipway."
	case written == 0:
		return "All copies were in line with the database."
	}
	return fmt.Sprintf("Objects written: %d. Magnum still manages the clusters: run this again until you adopt with --adopt.", written)
}

// show prints a plan and returns a fault where something is refused.
func (o *options) show(streams ui.Streams, plan *moving.Plan, last string) error {
	t := ui.Table{Header: []string{"KIND", "NAME", "UUID", "DRIVER", "STATUS", "MACHINES", "ROLLS", "VERDICT"}}
	counts := map[moving.Verdict]int{}
	row := func(kind string, i moving.Item, more ...string) {
		counts[i.Verdict]++
		cells := append([]string{kind, i.Name, i.ID()}, more...)
		t.Rows = append(t.Rows, append(cells, string(i.Verdict)))
	}
	for _, i := range plan.Templates {
		row("template", i, "", "", "", "")
	}
	for _, i := range plan.Quotas {
		row("quota", i, "", "", "", "")
	}
	for _, c := range plan.Clusters {
		row("cluster", c.Item, c.Driver, c.Status, strconv.Itoa(c.Machines), strconv.Itoa(c.Rolls))
		for _, note := range c.Notes {
			t.Footer = append(t.Footer, "cluster "+c.Name+": "+note)
		}
		if n := len(c.AtUpgrade); n > 0 {
			t.Footer = append(t.Footer, fmt.Sprintf("cluster %s: its next upgrade to another template changes %d values of its release (-o json lists them)", c.Name, n))
		}
	}
	gone := func(kind string, keys []string) {
		for _, key := range keys {
			t.Footer = append(t.Footer, kind+" "+key+": Magnum has it no more; its copy is removed")
		}
	}
	gone("cluster", plan.Gone)
	gone("template", plan.GoneTemplates)
	gone("quota", plan.GoneQuotas)
	t.Footer = append(t.Footer, fmt.Sprintf("Magnum %s: %d to adopt, %d to show, %d ours, %d refused", plan.Magnum, counts[moving.Adopt], counts[moving.Show], counts[moving.Ours], counts[moving.Refuse]))
	if o.api != "" {
		t.Footer = append(t.Footer, "Magnum's API shows no trusts and no certificate authorities: neither was compared with the clusters.")
	}
	if o.cloud == "" {
		t.Footer = append(t.Footer, "Without --cloud nobody asked Keystone whether the projects still exist.")
	}
	if last != "" {
		t.Footer = append(t.Footer, last)
	}
	if err := ui.Output(streams.Out, o.format, plan, t); err != nil {
		return err
	}
	return refused(plan)
}

// refused are all problems as a fault.
func refused(plan *moving.Plan) error {
	all := faults(plan.Refused())
	if all == nil {
		return nil
	}
	return &fault.Fault{Exit: fault.ExitPartial, Err: all}
}

func faults(problems []moving.Refusal) error {
	var all []error
	for _, p := range problems {
		all = append(all, fault.New(p.Object, errors.New(p.What), p.Remedy))
	}
	return errors.Join(all...)
}
