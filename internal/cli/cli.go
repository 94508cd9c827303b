// Package cli assembles the command line from the packages below, one per command.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/cli/adopt"
	"github.com/slipway-sh/slipway/internal/cli/backup"
	"github.com/slipway-sh/slipway/internal/cli/bundle"
	"github.com/slipway-sh/slipway/internal/cli/certs"
	clustercheck "github.com/slipway-sh/slipway/internal/cli/check"
	"github.com/slipway-sh/slipway/internal/cli/cluster"
	"github.com/slipway-sh/slipway/internal/cli/config"
	"github.com/slipway-sh/slipway/internal/cli/console"
	"github.com/slipway-sh/slipway/internal/cli/demo"
	"github.com/slipway-sh/slipway/internal/cli/devstack"
	"github.com/slipway-sh/slipway/internal/cli/down"
	"github.com/slipway-sh/slipway/internal/cli/etcd"
	"github.com/slipway-sh/slipway/internal/cli/image"
	"github.com/slipway-sh/slipway/internal/cli/initialize"
	"github.com/slipway-sh/slipway/internal/cli/kubeconfig"
	"github.com/slipway-sh/slipway/internal/cli/log"
	"github.com/slipway-sh/slipway/internal/cli/logs"
	"github.com/slipway-sh/slipway/internal/cli/magnum"
	"github.com/slipway-sh/slipway/internal/cli/open"
	"github.com/slipway-sh/slipway/internal/cli/plan"
	"github.com/slipway-sh/slipway/internal/cli/preflight"
	"github.com/slipway-sh/slipway/internal/cli/recover"
	"github.com/slipway-sh/slipway/internal/cli/reference"
	"github.com/slipway-sh/slipway/internal/cli/refresh"
	"github.com/slipway-sh/slipway/internal/cli/sandbox"
	"github.com/slipway-sh/slipway/internal/cli/seed"
	"github.com/slipway-sh/slipway/internal/cli/serve"
	"github.com/slipway-sh/slipway/internal/cli/ssh"
	"github.com/slipway-sh/slipway/internal/cli/state"
	"github.com/slipway-sh/slipway/internal/cli/status"
	"github.com/slipway-sh/slipway/internal/cli/support"
	"github.com/slipway-sh/slipway/internal/cli/sweep"
	"github.com/slipway-sh/slipway/internal/cli/tacker"
	"github.com/slipway-sh/slipway/internal/cli/template"
	"github.com/slipway-sh/slipway/internal/cli/up"
	"github.com/slipway-sh/slipway/internal/cli/update"
	"github.com/slipway-sh/slipway/internal/cli/version"
	"github.com/slipway-sh/slipway/internal/cli/why"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/runlog"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks"
)

// Run runs the command line args and returns its error; Report turns that into
// an exit code.
func Run(ctx context.Context, streams ui.Streams, args []string) error {
	recorder := &runlog.Recorder{}
	streams.Events = recorder
	root := newRoot(streams)
	record(root, recorder, streams)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && ctx.Err() != nil && !fault.Told(err) {
		return interrupted(ctx, err)
	}
	return err
}

// interrupted returns the error of a command that a signal stopped. Work that is done is
// kept, unless the command's own error says what to do.
func interrupted(ctx context.Context, err error) error {
	remedy := "run the same command again; completed work is kept"
	var own *fault.Fault
	if errors.As(err, &own) && own.Exit == fault.ExitInterrupted && own.Remedy != "" {
		remedy = own.Remedy
	}
	return &fault.Fault{Exit: fault.ExitInterrupted, Err: context.Cause(ctx), Remedy: remedy}
}

func newRoot(streams ui.Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "slipway",
		Short: "Run a Cluster API management cluster with a Magnum-compatible API on OpenStack",
		Long: `Slipway turns an empty OpenStack project into a highly available Cluster API
management cluster with a Magnum-compatible API, and keeps it running.

Every command that prints data accepts -o table, json or yaml. Long operations show
progress on standard error; --progress json writes it as one JSON object per line.
Exit codes are listed in docs/reference/exit-codes.md.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fault.Usage(cmd.CommandPath(), flagError(err), "see "+cmd.CommandPath()+" --help")
	})
	root.AddCommand(initialize.New(streams), config.New(streams), preflight.New(streams, stacks.Steps()),
		plan.New(streams), up.New(streams, backup.Before), recover.NewUndo(streams, recover.Vault), status.New(streams), why.New(streams), clustercheck.New(streams), support.New(streams), refresh.New(streams),
		recover.New(streams, recover.Vault), down.New(streams), sweep.New(streams), state.New(streams), backup.New(streams), kubeconfig.New(streams), certs.New(streams), ssh.New(streams), logs.New(streams),
		log.New(streams), update.New(streams), console.New(streams), open.New(streams, console.NewServe(streams, "console")), demo.New(streams), seed.New(streams),
		cluster.New(streams), image.New(streams), template.New(streams), magnum.New(streams), adopt.New(streams), bundle.New(streams), sandbox.New(streams), serve.New(streams), etcd.New(streams), devstack.New(streams), tacker.New(streams), version.New(streams), reference.New())
	root.InitDefaultCompletionCmd()
	strict(root)
	return root
}

// strict reports wrong arguments as usage faults, and makes commands that only
// group others refuse an unknown one; cobra would print the help and succeed.
func strict(cmd *cobra.Command) {
	for _, child := range cmd.Commands() {
		strict(child)
	}
	cmd.SuggestionsMinimumDistance = 2
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			// Flags that exclude each other are wrong usage too; cobra looks at them later.
			if err := cmp.Or(check(cmd, args), cmd.ValidateFlagGroups()); err != nil {
				return fault.Usage(cmd.CommandPath(), flagError(err), "see "+cmd.CommandPath()+" --help")
			}
			return nil
		}
	}
	if cmd.HasSubCommands() && cmd.RunE == nil && cmd.Run == nil {
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			remedy := "see " + cmd.CommandPath() + " --help"
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				remedy = "did you mean " + near[0] + "?"
			}
			return fault.Usage(cmd.CommandPath(), fmt.Errorf("unknown command %q", args[0]), remedy)
		}
	}
}

// Report prints an error to the error stream, one paragraph per cause with its
// remedy, and returns the exit code.
func Report(streams ui.Streams, err error) fault.Exit {
	if fault.Told(err) {
		return fault.ExitCode(err)
	}
	for _, one := range fault.All(err) {
		fmt.Fprintf(streams.Err, "error: %v\n", one)
		if remedy := fault.Remedy(one); remedy != "" {
			fmt.Fprintf(streams.Err, "  fix: %s\n", remedy)
		}
	}
	return fault.ExitCode(err)
}
