//go:build linux

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/sandbox"
)

const (
	// patience bounds the wait for a started sandbox to answer.
	patience = time.Minute
	// stopTime bounds the wait for it to end with all its machines.
	stopTime = 60 * time.Second
)

// background starts this program again, detached from the terminal, and waits
// until it answers or exits.
func (o startOptions) background(ctx context.Context) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding slipway's own binary: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(o.dir, "sandbox.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening the log: %w", err)
	}
	defer log.Close()
	begin, err := log.Seek(0, 2)
	if err != nil {
		return fmt.Errorf("opening the log: %w", err)
	}
	// Not exec.CommandContext: the sandbox has to outlive this program.
	cmd := exec.Command(program, "sandbox", "start", "--foreground", "--dir", o.dir, "--listen", o.listen,
		"--driver", o.driver, "--accel", o.accel, "--bundle", o.bundle, "--factor", fmt.Sprint(o.factor))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = o.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the sandbox: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ready := make(chan error, 1)
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, err := waitReady(waiting, o.dir)
		ready <- err
	}()
	select {
	case err := <-ready:
		return err
	case <-ended:
		return fault.New("sandbox", errors.New(o.lastWords(begin)), "the full log is "+log.Name())
	}
}

// lastWords returns what the process wrote to its log after the position, without
// the prefixes that the program gives its own errors.
func (o startOptions) lastWords(begin int64) string {
	text, err := os.ReadFile(filepath.Join(o.dir, "sandbox.log"))
	if err != nil || int64(len(text)) < begin {
		return "it exited at once"
	}
	said := strings.TrimPrefix(string(bytes.TrimSpace(text[begin:])), "error: ")
	said, _, _ = strings.Cut(strings.TrimPrefix(said, "sandbox: "), "\n")
	if said == "" {
		return "it exited at once"
	}
	return said
}

// waitReady waits until the sandbox of the folder answers.
func waitReady(ctx context.Context, dir string) (sandbox.Status, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("it did not answer in time"))
	defer cancel()
	for {
		status, err := ask(ctx, dir)
		if err == nil {
			err = reachable(ctx, status.URL)
		}
		if err == nil {
			return status, nil
		}
		select {
		case <-ctx.Done():
			return status, fault.New("sandbox", errors.Join(context.Cause(ctx), err), "its log is "+filepath.Join(dir, "sandbox.log"))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// reachable tries the address that clients use: with machines it belongs to a
// network that the process creates after its start.
func reachable(ctx context.Context, address string) error {
	target, err := url.Parse(address)
	if err != nil {
		return err
	}
	connection, err := (&net.Dialer{Timeout: 100 * time.Millisecond}).DialContext(ctx, "tcp", target.Host)
	if err != nil {
		return err
	}
	return connection.Close()
}

var errStopped = errors.New("it is not running")

// ask asks the sandbox of the folder for its status. If another user started it,
// its secret cannot be read, and the status holds only what its lock says.
func ask(ctx context.Context, dir string) (sandbox.Status, error) {
	process, runs, err := sandbox.Running(dir)
	switch {
	case err != nil:
		return sandbox.Status{}, err
	case !runs || process.URL == "":
		return sandbox.Status{}, errStopped
	}
	control, err := sandbox.NewControl(dir, process.URL)
	if errors.Is(err, os.ErrPermission) {
		return sandbox.Status{URL: process.URL, PID: process.PID}, nil
	}
	if err != nil {
		return sandbox.Status{}, err
	}
	status, err := control.Status(ctx)
	for range 20 {
		if err == nil {
			return status, nil
		}
		// A process that is ending holds the lock a little longer than it
		// answers.
		if _, runs, _ := sandbox.Running(dir); !runs {
			return status, errStopped
		}
		time.Sleep(10 * time.Millisecond)
		status, err = control.Status(ctx)
	}
	return status, fault.New("sandbox", err, fmt.Sprintf("process %d is running but does not answer; its log is in %s", process.PID, dir))
}

// running returns the control client of the folder's sandbox, or a fault if none
// is running.
func running(dir string) (*sandbox.Control, error) {
	process, runs, err := sandbox.Running(dir)
	if err != nil {
		return nil, err
	}
	if !runs {
		return nil, fault.New("sandbox", fmt.Errorf("no sandbox is running in %s", dir), "run slipway sandbox start")
	}
	control, err := sandbox.NewControl(dir, process.URL)
	if errors.Is(err, os.ErrPermission) {
		return nil, fault.New("sandbox", err, "it was started by another user; use sudo")
	}
	return control, err
}
