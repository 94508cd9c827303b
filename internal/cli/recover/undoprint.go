package recover

import (
	"fmt"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/ui"
)

// lines say what is about to be done, and what cannot be undone.
func (r undoResult) lines() []string {
	lines := []string{fmt.Sprintf("backup %s of environment %s, taken %s; it can be undone until %s", r.Backup, r.Environment, r.Taken.UTC().Format(time.RFC3339), r.Until.UTC().Format(time.RFC3339)), "it will:"}
	add := func(format string, args ...any) { lines = append(lines, "  "+fmt.Sprintf(format, args...)) }
	if r.Controllers != nil {
		for _, v := range r.Controllers.Versions {
			add("take %s from %s to %s", v.Deployment, orNone(v.From), orNone(v.To))
		}
		add("apply %d objects as they were, and remove %d that came with the upgrade", len(r.Controllers.Back), len(r.Controllers.Removed))
	}
	add("pause %d clusters meanwhile, prove that nothing in the cloud would change, and unpause them in waves", len(r.Clusters))
	for _, name := range r.Restored {
		add("restore cluster %s, which is gone while all its servers run", name)
	}
	for _, name := range r.Busy {
		add("unpause %s last and without watching: it is changing now", name)
	}
	lines = append(lines, "cannot be undone:")
	for _, line := range r.Stays {
		add("%s", line)
	}
	return lines
}

func orNone(version string) string {
	if version == "" {
		return "none"
	}
	return version
}

// table shows the controllers, then the checks, then the times.
func (r undoResult) table() ui.Table {
	table := ui.Table{}
	if r.Controllers != nil && len(r.Controllers.Versions) > 0 {
		table.Header = []string{"CONTROLLER", "FROM", "TO"}
		for _, v := range r.Controllers.Versions {
			table.Rows = append(table.Rows, []string{v.Deployment, orNone(v.From), orNone(v.To)})
		}
	}
	if !r.Undone.IsZero() && len(r.Parts) == 0 {
		return ui.Table{Header: []string{"UNDONE", "BACKUP"}, Rows: [][]string{{r.Undone.UTC().Format(time.RFC3339), r.Backup}},
			Footer: []string{"", "the upgrade was undone before: there is nothing to do"}}
	}
	if len(table.Rows) > 0 {
		table.Footer = append(table.Footer, "")
	}
	if r.Nothing {
		table.Footer = append(table.Footer, "the controllers are what they were before the change: there is nothing to undo")
		return table
	}
	if r.DryRun {
		table.Footer = append(table.Footer, r.lines()...)
		return table
	}
	for _, c := range r.Checks {
		table.Footer = append(table.Footer, fmt.Sprintf("check %-12s %s, %d objects: %s", c.ID, c.State, c.Checked, c.Claim))
		for _, f := range c.Findings {
			table.Footer = append(table.Footer, "  "+f.Object+": "+f.Cause)
		}
	}
	for _, p := range r.Parts {
		table.Footer = append(table.Footer, fmt.Sprintf("  %-12s %s", p.Name, seconds(p.Seconds)))
	}
	for _, name := range r.Busy {
		table.Footer = append(table.Footer, "was changing, and was not watched: "+name)
	}
	table.Footer = append(table.Footer, strings.TrimSpace("took "+seconds(r.Seconds)))
	return table
}
