//go:build linux

package sandbox

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/ui"
)

func newFaults(streams ui.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "faults",
		Short: "Inject faults into the sandbox",
		Long: `A fault rule makes calls, machines, quotas, scheduling, load balancers or tokens fail
when its conditions match. Rules stay in force, also after a restart, until you remove
them.`,
	}
	cmd.AddCommand(newFaultsAdd(streams), newFaultsList(streams), newFaultsRemove(streams))
	return cmd
}

func newFaultsAdd(streams ui.Streams) *cobra.Command {
	var dir string
	var delay time.Duration
	format, kind := "table", string(faultinject.API)
	var rule faultinject.Rule
	cmd := &cobra.Command{
		Use:   "add",
		Short: "Add a fault rule",
		Example: `  slipway sandbox faults add --service compute --method POST --path '/v2.1/servers' --status 500 --nth 3
  slipway sandbox faults add --service network --delay 2s --probability 0.2 --seed 7
  slipway sandbox faults add --kind no-valid-host --resource 'worker-*' --times 1`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rule.Kind, rule.Delay = faultinject.Kind(kind), faultinject.Duration(delay)
			if err := rule.Validate(); err != nil {
				return fault.Usage(cmd.CommandPath(), err, "see "+cmd.CommandPath()+" --help")
			}
			dir, err := folder(dir)
			if err != nil {
				return err
			}
			control, err := running(dir)
			if err != nil {
				return err
			}
			added, err := control.AddFault(cmd.Context(), rule)
			if err != nil {
				return err
			}
			return ui.Output(streams.Out, format, added, faultTable(added))
		},
	}
	dirFlag(cmd, &dir)
	ui.FormatFlag(cmd.Flags(), &format)
	ruleFlags(cmd, &rule)
	cmd.Flags().StringVar(&kind, "kind", kind, "what fails: "+kinds())
	cmd.Flags().DurationVar(&delay, "delay", 0, "delay before the answer")
	return cmd
}

func ruleFlags(cmd *cobra.Command, rule *faultinject.Rule) {
	flags := cmd.Flags()
	flags.StringVar(&rule.Service, "service", "", "type of the service: compute, network, …")
	flags.StringVar(&rule.Method, "method", "", "HTTP method")
	flags.StringVar(&rule.Path, "path", "", "path below the service's endpoint; * matches one segment, ** any number")
	flags.StringVar(&rule.Resource, "resource", "", "name of the resource, as a shell pattern")
	flags.IntVar(&rule.Nth, "nth", 0, "fail only the n-th matching call")
	flags.IntVar(&rule.Times, "times", 0, "stop after this number of failures")
	flags.Float64Var(&rule.Probability, "probability", 0, "fraction of matching calls that fail, 0 to 1; 0 means all")
	flags.Uint64Var(&rule.Seed, "seed", 0, "random seed for --probability")
	flags.IntVar(&rule.Status, "status", 0, "answer with this status")
	flags.StringVar(&rule.Body, "body", "", "answer with this body instead of the service's error")
	flags.BoolVar(&rule.Drop, "drop", false, "close the connection without an answer")
}

func kinds() string {
	var names []string
	for _, kind := range faultinject.Kinds() {
		names = append(names, string(kind))
	}
	return strings.Join(names, ", ")
}

func newFaultsList(streams ui.Streams) *cobra.Command {
	var dir string
	format := "table"
	cmd := &cobra.Command{
		Use: "list", Short: "List the fault rules with their number of matches and failures",
		Example: "  slipway sandbox faults list -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := folder(dir)
			if err != nil {
				return err
			}
			control, err := running(dir)
			if err != nil {
				return err
			}
			rules, err := control.Faults(cmd.Context())
			if err != nil {
				return err
			}
			return ui.Output(streams.Out, format, rules, faultTable(rules...))
		},
	}
	dirFlag(cmd, &dir)
	ui.FormatFlag(cmd.Flags(), &format)
	return cmd
}

func faultTable(rules ...faultinject.Rule) ui.Table {
	table := ui.Table{Header: []string{"ID", "KIND", "WHEN", "THEN", "CALLS", "HITS"}}
	for _, r := range rules {
		table.Rows = append(table.Rows, []string{r.ID, string(r.Kind), when(r), then(r), fmt.Sprint(r.Calls), fmt.Sprint(r.Hits)})
	}
	return table
}

func newFaultsRemove(streams ui.Streams) *cobra.Command {
	var dir string
	var all bool
	cmd := &cobra.Command{
		Use: "remove [ID...]", Short: "Remove fault rules",
		Example: "  slipway sandbox faults remove 1a2b3c4d\n  slipway sandbox faults remove --all",
		RunE: func(cmd *cobra.Command, ids []string) error {
			if all == (len(ids) > 0) {
				return fault.Usage(cmd.CommandPath(), fmt.Errorf("give rule IDs or --all, not both"), "see slipway sandbox faults list")
			}
			dir, err := folder(dir)
			if err != nil {
				return err
			}
			control, err := running(dir)
			if err != nil {
				return err
			}
			if all {
				return control.ClearFaults(cmd.Context())
			}
			for _, id := range ids {
				if err := control.RemoveFault(cmd.Context(), id); err != nil {
					return fault.New("fault rule", err, "see slipway sandbox faults list")
				}
			}
			return nil
		},
	}
	dirFlag(cmd, &dir)
	cmd.Flags().BoolVar(&all, "all", false, "remove all rules")
	return cmd
}
