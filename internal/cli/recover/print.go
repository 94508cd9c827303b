package recover

import (
	"fmt"
	"io"
	"time"

	"github.com/slipway-sh/slipway/internal/recovery/diagnosis"
	"github.com/slipway-sh/slipway/internal/ui"
)

// table shows the checks with what they found, then the times.
func (r result) table() ui.Table {
	if r.Diagnosis.Repair != "" && r.Diagnosis.Repair != diagnosis.Rebuild {
		return r.repaired()
	}
	table := ui.Table{Header: []string{"CHECK", "STATE", "OBJECTS", "WHAT"}}
	for _, c := range r.Checks {
		table.Rows = append(table.Rows, []string{c.ID, string(c.State), fmt.Sprint(c.Checked), c.Claim})
		for _, f := range c.Findings {
			table.Rows = append(table.Rows, []string{"", "", "", f.Object + ": " + f.Cause})
			if f.Remedy != "" {
				table.Rows = append(table.Rows, []string{"", "", "", "  fix: " + f.Remedy})
			}
		}
	}
	if len(r.Checks) == 0 {
		table = ui.Table{Header: []string{"WAVE", "CLUSTER"}}
		for _, w := range r.Waves {
			for _, cluster := range w.Clusters {
				table.Rows = append(table.Rows, []string{w.Name, cluster})
			}
		}
	}
	table.Footer = append(table.Footer, "", fmt.Sprintf("backup %s of %s: %d objects, %d left out", r.Backup, r.Taken.UTC().Format(time.RFC3339), r.Objects, r.Skipped))
	for _, p := range r.Parts {
		table.Footer = append(table.Footer, fmt.Sprintf("  %-10s %s", p.Name, seconds(p.Seconds)))
	}
	if !r.DryRun {
		table.Footer = append(table.Footer, "RTO "+seconds(r.RTO))
	}
	table.Footer = append(table.Footer, "RPO "+seconds(r.RPO)+": what happened since then is not in the backup")
	return table
}

func seconds(n float64) string { return ui.Duration(time.Duration(n * float64(time.Second))) }

// repaired shows a repair that is not the rebuild.
func (r result) repaired() ui.Table {
	table := ui.Table{Header: []string{"PART", "TOOK"}}
	for _, p := range r.Parts {
		table.Rows = append(table.Rows, []string{p.Name, seconds(p.Seconds)})
	}
	if len(r.Parts) == 0 {
		table = ui.Table{Header: []string{"FOUND"}}
		for _, line := range r.Diagnosis.Found {
			table.Rows = append(table.Rows, []string{line})
		}
	}
	table.Footer = append(table.Footer, "", "repair: "+string(r.Diagnosis.Repair))
	for _, name := range r.Absent {
		table.Footer = append(table.Footer, "the backup has "+name+", the management cluster has not; if it was deleted by mistake: slipway recover --cluster "+name)
	}
	if len(r.Parts) == 0 {
		for _, line := range r.Diagnosis.Will {
			table.Footer = append(table.Footer, "  would "+line)
		}
		return table
	}
	table.Footer = append(table.Footer, "RTO "+seconds(r.RTO))
	return table
}

// tell prints the diagnosis.
func (r result) tell(w io.Writer) {
	if len(r.Diagnosis.Found) == 0 {
		return
	}
	fmt.Fprintln(w, "found:")
	for _, line := range r.Diagnosis.Found {
		fmt.Fprintln(w, "  "+line)
	}
	if len(r.Diagnosis.Will) > 0 {
		fmt.Fprintf(w, "repair: %s\n", r.Diagnosis.Repair)
	}
	for n, line := range r.Diagnosis.Will {
		fmt.Fprintf(w, "  %d. %s\n", n+1, line)
	}
}

// summary says what is about to be done.
func (r result) summary(w io.Writer) {
	r.tell(w)
	if d := r.Datastore; d != nil && r.Diagnosis.Repair == diagnosis.Datastore {
		fmt.Fprintf(w, "datastore of backup %s, taken %s\n", d.Backup, d.Taken.UTC().Format(time.RFC3339))
	}
	if r.Diagnosis.Repair != "" && r.Diagnosis.Repair != diagnosis.Rebuild {
		return
	}
	fmt.Fprintf(w, "backup %s of environment %s, taken %s (%s ago)\n", r.Backup, r.Environment, r.Taken.UTC().Format(time.RFC3339), seconds(r.RPO))
	fmt.Fprintf(w, "%d objects of %d clusters are restored, paused, and proved before anything is unpaused\n", r.Objects, len(r.Clusters))
	for _, wave := range r.Waves {
		fmt.Fprintf(w, "wave %s: %d clusters\n", wave.Name, len(wave.Clusters))
	}
}
