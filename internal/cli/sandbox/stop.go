//go:build linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/sandbox"
	"github.com/slipway-sh/slipway/internal/ui"
)

func newStop(streams ui.Streams) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "stop",
		Short:   "Stop the sandbox and keep its resources",
		Example: "  slipway sandbox stop",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := folder(dir)
			if err != nil {
				return err
			}
			stopped, err := stop(cmd.Context(), dir)
			if err != nil {
				return err
			}
			swept, err := sweep(cmd.Context(), dir)
			switch {
			case err != nil:
				return err
			case swept:
				fmt.Fprintln(streams.Out, "The sandbox was not running; what it had left on the host is removed.")
				return nil
			case !stopped:
				fmt.Fprintln(streams.Out, "The sandbox is not running.")
				return nil
			}
			fmt.Fprintln(streams.Out, "The sandbox is stopped; slipway sandbox start resumes it.")
			return nil
		},
	}
	dirFlag(cmd, &dir)
	return cmd
}

func newReset(streams ui.Streams) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "reset",
		Short:   "Stop the sandbox and delete everything in it",
		Example: "  slipway sandbox reset && slipway sandbox start",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := folder(dir)
			if err != nil {
				return err
			}
			if _, err := stop(cmd.Context(), dir); err != nil {
				return err
			}
			if _, err := sweep(cmd.Context(), dir); err != nil {
				return err
			}
			if err := sandbox.Erase(dir); err != nil {
				return fault.New("sandbox", err, "if root started the sandbox, use sudo")
			}
			fmt.Fprintln(streams.Out, "The sandbox is deleted; slipway sandbox start creates a new one.")
			return nil
		},
	}
	dirFlag(cmd, &dir)
	return cmd
}

// stop ends the process that holds the folder's lock and waits until it released
// the lock; it returns false if there is none.
func stop(ctx context.Context, dir string) (bool, error) {
	process, runs, err := sandbox.Running(dir)
	if err != nil || !runs {
		return false, err
	}
	if process.PID <= 0 {
		return false, fault.New("sandbox", errors.New("it is still starting"), "try again in a moment")
	}
	switch err := syscall.Kill(process.PID, syscall.SIGTERM); {
	case errors.Is(err, os.ErrPermission):
		return false, fault.New("sandbox", err, "it was started by another user; use sudo")
	case err != nil && !errors.Is(err, syscall.ESRCH):
		return false, fmt.Errorf("stopping the sandbox: %w", err)
	}
	for end := time.Now().Add(stopTime); time.Now().Before(end); {
		if _, runs, err := sandbox.Running(dir); err != nil || !runs {
			return true, err
		}
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return false, fault.New("sandbox", fmt.Errorf("process %d did not end in %s", process.PID, stopTime), "kill the process; the sandbox's state survives")
}

// sweep removes machines and networks whose process is gone, as after kill -9.
func sweep(ctx context.Context, dir string) (bool, error) {
	if _, runs, err := sandbox.Running(dir); err != nil || runs {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	swept, err := sandbox.Sweep(ctx, sandbox.HostOptions{Dir: dir})
	if err != nil {
		return swept, fault.New("sandbox", err, "run it again; if root started the sandbox, use sudo")
	}
	return swept, nil
}
