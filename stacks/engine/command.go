package engine

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/blang/semver"
	"github.com/pulumi/pulumi/sdk/v3"

	"github.com/slipway-sh/slipway/internal/process"
	enginecmd "github.com/slipway-sh/slipway/stacks/engine/pulumi"
)

// cancelDelay is how long the interrupted engine may take to save the state before it is
// killed. The whole command must end within 10 s.
const cancelDelay = 8 * time.Second

// lockStays is what the engine says when it could not give back its lock, whatever its exit code
// (pkg/backend/diy/lock.go).
const lockStays = "problem deleting the lock"

// command is Pulumi's command line in a child process: this same binary under another
// name. It implements auto.PulumiCommand.
type command struct {
	executable string
	environ    []string
	passphrase []byte
	notes      notes
}

// Version is the version of the engine that is linked in.
func (c command) Version() semver.Version { return sdk.Version }

// Run runs the command line args. It answers the Automation API's other queries itself:
// each would start a process for a third of a second, and nothing uses the answers.
func (c command) Run(ctx context.Context, dir string, stdin io.Reader, outputs, errorOutputs []io.Writer, environ []string, args ...string) (string, string, int, error) {
	if len(args) > 1 && args[0] == "stack" {
		switch args[1] {
		case "select":
			return "", "", 0, nil
		case "output":
			return "{}", "", 0, nil
		case "history":
			return "[]", "", 0, nil
		}
	}
	return c.run(ctx, dir, stdin, outputs, errorOutputs, environ, args...)
}

func (c command) run(ctx context.Context, dir string, stdin io.Reader, outputs, errorOutputs []io.Writer, environ []string, args ...string) (string, string, int, error) {
	secret, path, err := process.Secret(c.passphrase)
	if err != nil {
		return "", "", -1, err
	}
	defer secret.Close()
	cmd := exec.CommandContext(ctx, c.executable)
	cmd.Args = append([]string{enginecmd.Name, "--non-interactive"}, args...)
	cmd.Dir = dir
	cmd.Env = slices.Concat(c.environ, environ, []string{
		"PULUMI_AUTOMATION_API=true",
		"PULUMI_CONFIG_PASSPHRASE_FILE=" + path, // the first of ExtraFiles
	})
	cmd.ExtraFiles = []*os.File{secret}
	cmd.Stdin = stdin
	var stdout, stderr bytes.Buffer
	cmd.Stdout = io.MultiWriter(append(outputs, &stdout)...)
	cmd.Stderr = io.MultiWriter(append(errorOutputs, &stderr)...)
	// A process group of its own: Ctrl-C at the terminal goes to this process only,
	// which passes it on.
	cmd.SysProcAttr = process.Bound(true)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = cancelDelay
	changes := slices.Contains([]string{"up", "destroy"}, args[0])
	err = runOnOneThread(cmd, func(pid int) { c.notes.begin(pid, changes) })
	if cmd.ProcessState != nil && cmd.ProcessState.Exited() && !strings.Contains(stdout.String()+stderr.String(), lockStays) {
		c.notes.end(cmd.ProcessState.Pid(), changes && err == nil)
	}
	code := 0
	if err != nil {
		code = -1
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			code = exit.ExitCode()
		}
	}
	return stdout.String(), stderr.String(), code, err
}

// runOnOneThread runs a command whose parent-death signal must be sent when this process
// ends: Linux sends it when the thread that started the child ends
// (golang.org/issue/27505). began is called when it has started.
func runOnOneThread(cmd *exec.Cmd, began func(pid int)) error {
	ended := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			ended <- err
			return
		}
		began(cmd.Process.Pid)
		ended <- cmd.Wait()
	}()
	return <-ended
}
