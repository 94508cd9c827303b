package bundle

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/ui"
)

// entry is one line of `bundle list`.
type entry struct {
	Name    string      `json:"name"`
	Kind    bundle.Kind `json:"kind"`
	Version string      `json:"version"`
	License string      `json:"license"`
	Ref     string      `json:"ref,omitempty"`
	// State is present, outdated or absent, in the bundle of --dir.
	State string `json:"state"`
	// Buildable and Pullable say where the item can come from.
	Buildable bool `json:"buildable"`
	Pullable  bool `json:"pullable"`
}

func newList(streams ui.Streams) *cobra.Command {
	var dir string
	format := "table"
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List all items that a bundle can hold and which of them are present",
		Example: "  slipway bundle list\n  slipway bundle list -o json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			bill := bundle.NewBill("")
			folder, err := bundle.Open(dir)
			if err == nil {
				bill = folder.Bill()
			} else if !errors.Is(err, bundle.ErrNone) {
				return err
			}
			entries, err := catalogue(bill)
			if err != nil {
				return err
			}
			return ui.Output(streams.Out, format, entries, listTable(entries))
		},
	}
	dirFlag(cmd, &dir)
	ui.FormatFlag(cmd.Flags(), &format)
	return cmd
}

func catalogue(bill *bundle.Bill) ([]entry, error) {
	pins, err := component.UpstreamPins()
	if err != nil {
		return nil, err
	}
	var entries []entry
	for _, c := range component.Known(component.DefaultVersions()) {
		e := entry{Name: c.Name, Kind: c.Kind, Version: c.Version, License: c.License, Ref: c.Ref, State: "absent", Buildable: c.Unbuildable == ""}
		_, e.Pullable = pins.Pin(c.Name)
		if item := bill.Item(c.Name); item != nil {
			e.State = "present"
			if item.Version != c.Version {
				e.State = "outdated"
			}
		}
		entries = append(entries, e)
	}
	slices.SortStableFunc(entries, func(x, y entry) int {
		if byKind := slices.Index(bundle.Kinds(), x.Kind) - slices.Index(bundle.Kinds(), y.Kind); byKind != 0 {
			return byKind
		}
		return strings.Compare(x.Name, y.Name)
	})
	return entries, nil
}

func listTable(entries []entry) ui.Table {
	yes := map[bool]string{true: "yes", false: "no"}
	table := ui.Table{Header: []string{"KIND", "NAME", "VERSION", "STATE", "BUILD", "PULL"}}
	for _, e := range entries {
		table.Rows = append(table.Rows, []string{string(e.Kind), e.Name, e.Version, e.State, yes[e.Buildable], yes[e.Pullable]})
	}
	return table
}
