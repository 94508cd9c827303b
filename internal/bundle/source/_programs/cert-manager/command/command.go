// Package command runs a program of cert-manager as the container's first
// process: signals, logs and the exit code.
package command

import (
	"context"

	"github.com/spf13/cobra"

	exit "github.com/cert-manager/cert-manager/internal/cmd/util"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/util"
)

// Main builds the command and runs it until it ends, or until SIGTERM or an
// interrupt cancels its context; a second signal ends the process at once. The
// exit code is 1 if building or running returned an error, and 0 otherwise.
func Main(name string, build func() (*cobra.Command, error)) {
	ctx, finish := exit.SetupExitHandler(context.Background(), exit.GracefulShutdown)
	defer finish() // leaves the process, therefore deferred before the logs are flushed
	logf.InitLogs()
	defer logf.FlushLogs()

	ctx = logf.NewContext(ctx, logf.Log, name)
	if err := execute(ctx, build); err != nil {
		logf.FromContext(ctx).Error(err, "stopping", "version", util.AppVersion)
		exit.SetExitCode(err)
	}
}

func execute(ctx context.Context, build func() (*cobra.Command, error)) error {
	cmd, err := build()
	if err != nil {
		return err
	}
	cmd.Args = cobra.NoArgs
	cmd.SilenceErrors = true // Main logs them
	cmd.SilenceUsage = true
	return cmd.ExecuteContext(ctx)
}
