package up

import (
	"io"

	"github.com/slipway-sh/slipway/internal/forecast"
	"github.com/slipway-sh/slipway/internal/ui"
)

// upgraded is a table of the controllers that an upgrade changed, with their versions
// afterwards, and says how to go back; none if no controller has another version now. What was
// not there before is none of them. backup is
// the one that was made first, "" if it was left out.
func upgraded(done *forecast.Forecast, backup string) (table ui.Table) {
	if done == nil {
		return table
	}
	for _, c := range done.Controllers {
		if c.From != "" {
			table.Rows = append(table.Rows, []string{c.Name, c.On, c.To, c.From})
		}
	}
	if len(table.Rows) == 0 {
		return table
	}
	table.Header = []string{"CONTROLLER", "ON", "VERSION", "BEFORE"}
	if backup != "" {
		table.Footer = []string{"the backup before it is " + backup + "; slipway undo --dry-run shows the way back"}
	} else {
		table.Footer = []string{"no backup was made before it: there is no way back"}
	}
	return table
}

// writeUpgraded prints that table.
func writeUpgraded(w io.Writer, r result) error {
	table := upgraded(r.Forecast, r.Backup)
	if len(table.Rows) == 0 {
		return nil
	}
	return ui.Output(w, "table", nil, table)
}
