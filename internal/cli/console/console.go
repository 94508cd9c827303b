// Package console is `slipway console`.
package console

import (
	"context"
	"fmt"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/ui"
)

// New returns the command.
func New(streams ui.Streams) *cobra.Command {
	var from environment.Flags
	lines := 100
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Show the seed's console log",
		Long:  "Shows the end of the seed's console log, as the cloud keeps it. It does not log in to the seed.",
		Example: `  slipway console
  slipway console --lines 1000 | grep cloud-init`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), streams, from, lines) },
	}
	from.Add(cmd.Flags())
	cmd.Flags().IntVar(&lines, "lines", lines, "number of lines to show, from the end")
	return cmd
}

func run(ctx context.Context, streams ui.Streams, from environment.Flags, lines int) error {
	seed, loaded, err := target.OpenSeed(ctx, from)
	if err != nil {
		return err
	}
	if seed.Local != "" {
		return target.ErrNoSeed()
	}
	c, err := cloud.Open(ctx, environment.CloudOptions(loaded))
	if err != nil {
		return err
	}
	client, err := c.Compute()
	if err != nil {
		return err
	}
	text, err := servers.ShowConsoleOutput(ctx, client, seed.ServerID, servers.ShowConsoleOutputOpts{Length: lines}).Extract()
	if err != nil {
		return c.Fault("server "+seed.Name, err)
	}
	_, err = fmt.Fprint(streams.Out, text)
	return err
}
