package ui

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/printable"
)

// Formats are the values of -o.
func Formats() []string { return []string{"table", "json", "yaml"} }

// Table is data as rows of cells under a header. A cell is one line, whatever is in it.
type Table struct {
	Header []string
	Rows   [][]string
	// Footer is printed below the rows, one line per element.
	Footer []string
	// Fit is how many characters a row may have: the widest columns are cut, with
	// an ellipsis. 0 is any number.
	Fit int
}

// Terminal is the width, in characters, that tables for people fit into.
const Terminal = 110

// least is how many characters a shortened column keeps.
const least = 12

// Output prints data in a format: the table, or the value as JSON or YAML with the
// value's JSON field names.
func Output(w io.Writer, format string, value any, table Table) error {
	switch format {
	case "table":
		return table.write(w)
	case "json":
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(value)
	case "yaml":
		text, err := yaml.Marshal(value)
		if err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	}
	return fmt.Errorf("unknown output format %q (one of %s)", format, strings.Join(Formats(), ", "))
}

// lines are header and rows, each cell in one line. Without rows, a footer tells all.
func (t Table) lines() (all [][]string) {
	rows := t.Rows
	if len(t.Header) > 0 && (len(t.Rows) > 0 || len(t.Footer) == 0) {
		rows = append([][]string{t.Header}, t.Rows...)
	}
	for _, row := range rows {
		var cells []string
		for _, cell := range row {
			cells = append(cells, printable.Line(cell))
		}
		all = append(all, cells)
	}
	return all
}

// fitted are the lines, cut to fit.
func (t Table) fitted() [][]string {
	all := t.lines()
	if t.Fit == 0 {
		return all
	}
	var widths []int
	for _, row := range all {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	total := 2 * (len(widths) - 1)
	for _, width := range widths {
		total += width
	}
	for total > t.Fit {
		widest := slices.Index(widths, slices.Max(widths))
		if widths[widest] <= least {
			break
		}
		widths[widest]--
		total--
	}
	cut := make([][]string, len(all))
	for i, row := range all {
		for k, cell := range row {
			if letters := []rune(cell); len(letters) > widths[k] {
				cell = string(letters[:widths[k]-1]) + "…"
			}
			cut[i] = append(cut[i], cell)
		}
	}
	return cut
}

func (t Table) write(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range t.fitted() {
		fmt.Fprintln(tw, strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, line := range t.Footer {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}
