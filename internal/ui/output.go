package ui

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"sigs.k8s.io/yaml"
)

// Formats are the values of -o.
func Formats() []string { return []string{"table", "json", "yaml"} }

// Table is data as rows of cells under a header.
type Table struct {
	Header []string
	Rows   [][]string
	// Footer is printed below the rows, one line per element.
	Footer []string
}

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

func (t Table) write(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{t.Header}, t.Rows...) {
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
