package datastore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/slipway-sh/slipway/internal/remote"
)

// Local is a machine seen from a container on it: its programs run here, with its root as
// theirs. The process must be root with CAP_SYS_CHROOT.
type Local struct {
	// Root is the folder that has the machine's root.
	Root string
}

const (
	// mostSaid bounds what is told of a program's standard error, in bytes.
	mostSaid = 2000
	// stopTime is how long a program may take to end after it was told to.
	stopTime = 10 * time.Second
)

// Run implements Host.
func (l Local) Run(ctx context.Context, program string, args ...string) (string, error) {
	var out bytes.Buffer
	err := l.Pipe(ctx, nil, &out, program, args...)
	return out.String(), err
}

// Pipe implements Host.
func (l Local) Pipe(ctx context.Context, in io.Reader, out io.Writer, program string, args ...string) error {
	// env finds the program in the machine's folders: a search from here would look in the
	// container's.
	cmd := exec.CommandContext(ctx, "/usr/bin/env", append([]string{program}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: l.Root, Setpgid: true}
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) } // Python then removes its copy
	cmd.WaitDelay = stopTime
	var said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, &said
	err := cmd.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return &remote.Failure{Program: program, Status: exit.ExitCode(), Said: strings.TrimSpace(string(said.Bytes()[max(0, said.Len()-mostSaid):]))}
	}
	if err != nil {
		return fmt.Errorf("running %s on the machine: %w", program, err)
	}
	return nil
}
