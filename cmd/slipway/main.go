// Command slipway turns an empty OpenStack project into a highly available
// Cluster API management cluster with a Magnum-compatible API.
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-sh/slipway/cmd/slipway/begin" // before the libraries fill their tables
	"github.com/slipway-sh/slipway/internal/cli"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/engine/pulumi"
)

func main() {
	begin.Terminal()
	if filepath.Base(os.Args[0]) == pulumi.Name { // started by stacks/engine
		os.Exit(pulumi.Main(context.Background(), os.Args[1:], os.Environ()))
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel(fault.ErrInterrupted) // the first asks: work in hand is finished or undone
		<-signals
		os.Exit(int(fault.ExitInterrupted)) // the second does not ask
	}()
	streams := ui.SystemStreams()
	// The libraries keep them for the whole process. Without its own, controller-runtime
	// prints a stack trace to whoever runs a command for more than 30 seconds.
	klog.SetLogger(cli.ClientLog(streams))
	log.SetLogger(cli.ClientLog(streams))
	err := cli.Run(ctx, streams, os.Args[1:])
	os.Exit(int(cli.Report(streams, err)))
}
