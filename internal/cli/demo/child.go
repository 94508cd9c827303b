package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/process"
	"github.com/slipway-sh/slipway/internal/ui"
)

// endTime is how long an interrupted command may take to end: up needs ten
// seconds, a sandbox that is reset more.
const endTime = time.Minute

// child runs this program again. It has a process group of its own, so that
// Ctrl-C reaches it once, from here: the second one would end it at once.
func child(streams ui.Streams) run {
	return func(ctx context.Context, dir string, args ...string) error {
		program, err := os.Executable()
		if err != nil {
			return fmt.Errorf("finding slipway's own binary: %w", err)
		}
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, streams.Out, streams.Err
		cmd.Env = ownCloud(os.Environ())
		cmd.SysProcAttr = process.Bound(true)
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		cmd.WaitDelay = endTime
		ended := make(chan error, 1)
		go func() { // Linux sends the signal of the parent's death when this thread ends
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ended <- cmd.Run()
		}()
		err = <-ended
		var exit *exec.ExitError
		if ctx.Err() != nil {
			if errors.As(err, &exit) && exit.ExitCode() > 0 { // it has said that it was interrupted
				return fmt.Errorf("%w: %w", context.Cause(ctx), fault.Status(exit.ExitCode()))
			}
			return context.Cause(ctx)
		}
		if errors.As(err, &exit) && exit.ExitCode() > 0 {
			return &fault.Fault{Exit: fault.Exit(exit.ExitCode()), Object: "slipway " + strings.Join(args[:min(2, len(args))], " "),
				Err: errors.New("it failed: its error is above"), Remedy: "fix the cause, and run slipway demo again: it continues"}
		}
		return err
	}
}

// ownCloud leaves out of an environment what selects a cloud: the folder has the clouds.yaml of
// the demo's sandbox, and a shell of somebody who uses OpenStack names another one.
func ownCloud(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(variable string) bool { return strings.HasPrefix(variable, "OS_") })
}
