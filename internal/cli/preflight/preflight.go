// Package preflight is `slipway preflight`.
package preflight

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/preflight"
	"github.com/slipway-sh/slipway/internal/ui"
)

// New returns the command; steps name the resources that up will create.
func New(streams ui.Streams, steps []string) *cobra.Command {
	var from environment.Flags
	var skip []string
	format := "table"
	cmd := &cobra.Command{
		Use:   "preflight",
		Short: "Check an environment against its cloud, and show what Slipway chooses",
		Long: `Takes one snapshot of the project and checks everything that could make up fail:
credential, roles, networks, flavor, image, volume types, availability zones, load
balancers, quota, names, address ranges, clock and bundle. All findings are reported at
once, each with its cause and fix; docs/operations/preflight.md lists the checks. Nothing is
changed. The exit code is 3 if a finding is an error.

Below the findings is how much of each quota is needed and used, and how many more machines
like those of the management cluster the quotas allow.`,
		Example: `  slipway preflight
  slipway preflight -f slipway.yaml -o json
  slipway preflight --skip-check quota,bundle`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := preflight.CheckSkips(skip); err != nil {
				return err
			}
			loaded, err := from.Load()
			if err == nil {
				err = environment.CheckValues(loaded)
			}
			if err != nil {
				return err
			}
			c, err := cloud.Open(cmd.Context(), environment.CloudOptions(loaded))
			if err != nil {
				return err
			}
			defer c.Close()
			input, err := look(cmd.Context(), c, loaded, steps, skip)
			if err != nil {
				return err
			}
			result := preflight.Run(input)
			if err := ui.Output(streams.Out, format, result, findingTable(result)); err != nil {
				return err
			}
			return verdict(result)
		},
	}
	from.Add(cmd.Flags())
	SkipFlag(cmd, &skip)
	ui.FormatFlag(cmd.Flags(), &format)
	return cmd
}

// look is what the checks look at. Of Keystone's catalog its administrator knows, who logs in only
// for a Magnum API.
func look(ctx context.Context, c *cloud.Cloud, loaded *config.Loaded, steps, skip []string) (preflight.Input, error) {
	input, err := environment.Look(ctx, c, loaded, steps, skip)
	if err != nil || loaded.Environment.Spec.Magnum == nil || slices.Contains(skip, preflight.CatalogCheck) {
		return input, err
	}
	input.Catalog = target.MayRegister(ctx, c, loaded)
	if ctx.Err() != nil {
		return input, input.Catalog
	}
	return input, nil
}

// SkipFlag adds --skip-check.
func SkipFlag(cmd *cobra.Command, skip *[]string) {
	cmd.Flags().StringSliceVar(skip, "skip-check", nil, "ids of preflight checks to skip")
}

// verdict is the error of a refusal; the findings themselves are printed.
func verdict(result preflight.Result) error {
	n := 0
	for _, f := range result.Findings {
		if f.Level == preflight.Error {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return &fault.Fault{Exit: fault.ExitPreflight, Object: "preflight", Err: fmt.Errorf("errors found: %d", n), Remedy: "fix the findings, or skip a check with --skip-check"}
}

func findingTable(result preflight.Result) ui.Table {
	table := ui.Table{Header: []string{"LEVEL", "CHECK", "OBJECT", "CAUSE"}}
	for _, f := range result.Findings {
		table.Rows = append(table.Rows, []string{string(f.Level), f.ID, f.Object, f.Cause})
		if f.Remedy != "" {
			table.Rows = append(table.Rows, []string{"", "", "", "fix: " + f.Remedy})
		}
	}
	if len(result.Findings) == 0 {
		table.Rows = append(table.Rows, []string{"", "", "", "no findings"})
	}
	table.Footer = append(quotaLines(result.Capacity.Quotas), roomLines(result.Capacity.Room)...)
	return table
}

// quotaLines shows how much of each quota is needed and how much is free.
func quotaLines(quotas []preflight.Need) []string {
	lines := []string{"", "quota: needed of available, used of all"}
	for _, q := range quotas {
		free, all := "unlimited", "unlimited"
		if q.Limit >= 0 {
			free, all = strconv.Itoa(max(0, q.Limit-q.Used)), strconv.Itoa(q.Limit)
		}
		line := fmt.Sprintf("  %-14s %-22s %6d of %-10s %8d of %s", q.Service, q.Resource, q.Need, free, q.Used, all)
		if q.Short > 0 {
			line += fmt.Sprintf("  (%d missing)", q.Short)
		}
		lines = append(lines, line)
	}
	return lines
}

// roomLines shows how many more machines fit beside what is needed.
func roomLines(rooms []preflight.Room) []string {
	if len(rooms) == 0 {
		return nil
	}
	lines := []string{"", "room in the quotas for more machines, beside what is needed"}
	for _, r := range rooms {
		line := fmt.Sprintf("  %-22s %-22s ", r.Group, r.Flavor)
		if r.Machines < 0 {
			lines = append(lines, line+"no limit")
			continue
		}
		lines = append(lines, fmt.Sprintf("%s%d, then the quota of %s is used up", line, r.Machines, r.Bound))
	}
	return lines
}
