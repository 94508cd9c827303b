// Package pulumi is the Pulumi command line inside this binary: as much of it
// as the Automation API calls. The binary runs it when its name is Name.
package pulumi

import (
	"context"
	"errors"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/pulumi/pulumi/pkg/v3/backend"
	"github.com/pulumi/pulumi/pkg/v3/cmd/pulumi/cancel"
	"github.com/pulumi/pulumi/pkg/v3/cmd/pulumi/cmd"
	"github.com/pulumi/pulumi/pkg/v3/cmd/pulumi/operations"
	"github.com/pulumi/pulumi/pkg/v3/cmd/pulumi/stack"
	"github.com/pulumi/pulumi/pkg/v3/cmd/pulumi/state"
	"github.com/pulumi/pulumi/pkg/v3/workspace"
	"github.com/pulumi/pulumi/sdk/v3"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/cmdutil"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/logging"
	"github.com/pulumi/pulumi/sdk/v3/go/common/version"
	"github.com/spf13/cobra"
	"gocloud.dev/blob"

	"github.com/slipway-sh/slipway/stacks/engine/httpstate"
)

// Name is the base name of argv[0] under which the binary is Pulumi.
const Name = "pulumi"

// Main runs Pulumi's command line in an environment and returns its exit code. It is to be
// called first thing in main, in a process of its own: Pulumi keeps state in
// package variables and talks to the standard streams.
func Main(ctx context.Context, args, environ []string) int {
	// The parent may be killed. Writing to its pipes must not kill this
	// process before it has saved the state and given back the lock.
	signal.Ignore(syscall.SIGPIPE)
	syscall.Umask(0o077) // what is in the state is nobody else's business
	version.Version = "v" + sdk.Version.String()
	httpstate.Register(blob.DefaultURLMux(), environ)
	root := newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	logging.Flush()
	if err != nil {
		cmd.DisplayErrorMessage(ctx, err, os.Stderr)
		return cmd.ExitCodeFor(err)
	}
	return 0
}

func newRoot() *cobra.Command {
	var color string
	var verbose int
	var logFlow, logToStderr bool
	root := &cobra.Command{
		Use: Name, SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmdutil.SetGlobalColorization(color); err != nil {
				return err
			}
			logging.InitLogging(logToStderr, verbose, logFlow)
			log.SetOutput(io.Discard) // the blob drivers print through it
			if cmd.Context() == nil {
				return errors.New("no context")
			}
			return nil
		},
	}
	flags := root.PersistentFlags()
	flags.StringVar(&color, "color", "never", "")
	flags.IntVarP(&verbose, "verbose", "v", 0, "")
	flags.BoolVar(&logFlow, "logflow", false, "")
	flags.BoolVar(&logToStderr, "logtostderr", false, "")
	flags.BoolVar(&cmdutil.DisableInteractive, "non-interactive", false, "")
	flags.BoolVar(&backend.DisableIntegrityChecking, "disable-integrity-checking", false, "")
	flags.BoolVarP(&cmdutil.FullyQualifyStackNames, "fully-qualify-stack-names", "Q", false, "")
	root.AddCommand(
		stack.NewStackCmd(),
		state.NewStateCmd(),
		operations.NewUpCmd(),
		operations.NewPreviewCmd(),
		operations.NewRefreshCmd(),
		operations.NewDestroyCmd(),
		operations.NewImportCmd(),
		cancel.NewCancelCmd(workspace.Instance),
	)
	return root
}
