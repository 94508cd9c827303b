package bundle

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/ui"
)

func newInspect(streams ui.Streams) *cobra.Command {
	var dir string
	format := "table"
	cmd := &cobra.Command{
		Use:   "inspect [ITEM...]",
		Short: "Show the items of a bundle with versions, sizes, licences and sources",
		Example: `  slipway bundle inspect
  slipway bundle inspect node -o yaml`,
		RunE: func(_ *cobra.Command, args []string) error {
			folder, err := bundle.Open(dir)
			if err != nil {
				return err
			}
			bill := folder.Bill()
			if bill.Items, err = bill.Select(args); err != nil {
				return err
			}
			return ui.Output(streams.Out, format, bill, billTable(bill))
		},
	}
	dirFlag(cmd, &dir)
	ui.FormatFlag(cmd.Flags(), &format)
	return cmd
}

// billTable lists items by kind, then sums them up by kind and by licence.
func billTable(bill *bundle.Bill) ui.Table {
	table := ui.Table{Header: []string{"KIND", "NAME", "VERSION", "SIZE", "DIGEST", "LICENCE", "SOURCE"}}
	count, size, licences := map[bundle.Kind]int{}, map[bundle.Kind]int64{}, map[string]int{}
	total := int64(0)
	for _, kind := range bundle.Kinds() {
		for _, item := range bill.Items {
			if item.Kind != kind {
				continue
			}
			table.Rows = append(table.Rows, []string{string(kind), item.Name, item.Version, ui.Bytes(item.Size), item.SHA256[:12], item.License, shortSource(item.Source)})
			count[kind]++
			size[kind] += item.Size
			total += item.Size
			licences[item.License]++
		}
	}
	table.Footer = append(table.Footer, "", fmt.Sprintf("%s, %d items, %s:", bill.Platform, len(bill.Items), ui.Bytes(total)))
	for _, kind := range bundle.Kinds() {
		if count[kind] > 0 {
			table.Footer = append(table.Footer, fmt.Sprintf("  %-9s %3d  %s", kind, count[kind], ui.Bytes(size[kind])))
		}
	}
	var sums []string
	for _, licence := range slices.Sorted(maps.Keys(licences)) {
		sums = append(sums, fmt.Sprintf("%s (%d)", licence, licences[licence]))
	}
	table.Footer = append(table.Footer, "licences: "+strings.Join(sums, ", "))
	for _, missing := range bill.Missing {
		table.Footer = append(table.Footer, fmt.Sprintf("missing: %s: %s", missing.Name, missing.Reason))
	}
	return table
}

// shortSource is the first of several sources, with the number of the others;
// -o yaml has them all.
func shortSource(source string) string {
	first, rest, several := strings.Cut(source, ", ")
	first = strings.TrimPrefix(first, "module ")
	if !several {
		return first
	}
	return fmt.Sprintf("%s, and %d more", first, strings.Count(rest, ", ")+1)
}
