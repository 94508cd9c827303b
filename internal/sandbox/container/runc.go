package container

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/process"
)

// runc runs the OCI runtime. The runtime can hang when its child has ended and it missed the
// signal, and it passes signals on: then only SIGKILL at a deadline ends it, which CommandContext
// sends.
type runc struct{ binary, root string }

const (
	runcTime   = 20 * time.Second
	execWait   = 2 * time.Second
	haltSignal = "SIGRTMIN+4" // systemd(1): poweroff.target
)

func (r runc) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, r.binary, append([]string{"--root", r.root}, args...)...)
	cmd.WaitDelay = execWait
	return cmd
}

// run starts the container of a bundle; its standard streams are tty.
func (r runc) run(ctx context.Context, id, bundle string, tty *os.File) error {
	ctx, cancel := context.WithTimeout(ctx, runcTime)
	defer cancel()
	log := bundle + "/runc.log"
	_ = os.Remove(log)
	cmd := exec.CommandContext(ctx, r.binary, "--root", r.root, "--log", log, "run", "--detach", "--bundle", bundle, id)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.WaitDelay = execWait
	if err := cmd.Run(); err != nil {
		text, _ := process.Tail(log, 3)
		return fmt.Errorf("starting container: %w: %s", err, strings.TrimSpace(text))
	}
	return nil
}

// state returns whether the container runs and the number of its first process; Gone means that
// runc does not know the container.
func (r runc) state(ctx context.Context, id string) (machine.State, int, error) {
	if _, err := os.Stat(r.root + "/" + id); err != nil {
		return machine.Gone, 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, runcTime)
	defer cancel()
	out, err := r.command(ctx, "state", id).Output()
	if err != nil {
		if _, gone := os.Stat(r.root + "/" + id); gone != nil {
			return machine.Gone, 0, nil
		}
		return "", 0, fmt.Errorf("asking for the state of a container: %w%s", err, stderr(err))
	}
	var state struct {
		Status string `json:"status"`
		PID    int    `json:"pid"`
	}
	if err := json.Unmarshal(out, &state); err != nil {
		return "", 0, fmt.Errorf("reading the state of a container: %w", err)
	}
	if state.Status == "running" || state.Status == "paused" || state.Status == "created" {
		return machine.Running, state.PID, nil
	}
	return machine.Stopped, 0, nil
}

func (r runc) kill(ctx context.Context, id, signal string) error {
	ctx, cancel := context.WithTimeout(ctx, runcTime)
	defer cancel()
	if _, err := r.command(ctx, "kill", id, signal).Output(); err != nil {
		return fmt.Errorf("sending %s: %w%s", signal, err, stderr(err))
	}
	return nil
}

// remove kills the container, if it runs, and removes it with its cgroups.
func (r runc) remove(ctx context.Context, id string) error {
	if _, err := os.Stat(r.root + "/" + id); err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, runcTime)
	defer cancel()
	if _, err := r.command(ctx, "delete", "--force", id).Output(); err != nil {
		return fmt.Errorf("removing container: %w%s", err, stderr(err))
	}
	return nil
}

func stderr(err error) string {
	if e, ok := err.(*exec.ExitError); ok && len(e.Stderr) > 0 {
		return ": " + string(bytes.TrimSpace(e.Stderr))
	}
	return ""
}
