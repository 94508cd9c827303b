// Package console is `slipway console`: the page for operators.
package console

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/ui"
)

// New returns the command with its sub-command.
func New(streams ui.Streams) *cobra.Command {
	var from environment.Flags
	lines := 100
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Show the environment, its clusters and causes in a browser",
		Long: `The console is a page for the operator, served on this machine: see slipway console serve.

Without a sub-command it prints the seed's console log, as in earlier versions. The next
version no longer does so: use slipway logs --console instead.`,
		Example: "  slipway console serve\n  slipway logs --console",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return printLog(cmd.Context(), streams, from, lines) },
	}
	from.Add(cmd.Flags())
	cmd.Flags().IntVar(&lines, "lines", lines, "number of lines of the console log to show, from the end")
	cmd.AddCommand(NewServe(streams, "serve"))
	return cmd
}

// printLog is the command of earlier versions, for one version.
func printLog(ctx context.Context, streams ui.Streams, from environment.Flags, lines int) error {
	fmt.Fprintln(streams.Err, "notice: use slipway logs --console instead; the next version of slipway console prints no console log")
	text, err := target.ConsoleLog(ctx, from, lines)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(streams.Out, text)
	return err
}
