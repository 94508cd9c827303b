// Package ssh is `slipway ssh`.
package ssh

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/remote"
	"github.com/slipway-sh/slipway/internal/ui"
)

// New returns the command.
func New(streams ui.Streams) *cobra.Command {
	var from environment.Flags
	cmd := &cobra.Command{
		Use:   "ssh [-- COMMAND [ARGUMENT]...]",
		Short: "Log in to the seed, or run a command on it",
		Long: `Opens a shell on the seed, or runs a command there. Address, user and host key come
from the state, so it works wherever you can read the state. A seed with a different
host key is refused. The exit code is that of the command.`,
		Example: `  slipway ssh
  slipway ssh -- sudo kubectl get pods -A
  slipway ssh -- sudo journalctl -u k3s -n 50`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), streams, from, args) },
	}
	from.Add(cmd.Flags())
	return cmd
}

func run(ctx context.Context, streams ui.Streams, from environment.Flags, args []string) error {
	seed, _, err := target.OpenSeed(ctx, from)
	if err != nil {
		return err
	}
	machine, err := seed.Login(ctx)
	if err != nil {
		return err
	}
	defer machine.Close()
	command := ""
	if len(args) > 0 {
		command = remote.Command(args...)
	}
	terminal, restore, err := open(ctx, streams, command)
	if err != nil {
		return err
	}
	status, err := machine.Session(ctx, remote.Streams{In: streams.In, Out: streams.Out, Err: streams.Err}, terminal, command)
	restore()
	if err != nil {
		return fault.New("seed "+seed.Name, err, "run it again")
	}
	return fault.Status(status)
}

// open puts the terminal into raw mode for a shell; a command or a pipe does not
// need that.
func open(ctx context.Context, streams ui.Streams, command string) (*remote.Terminal, func(), error) {
	in, ok := streams.In.(*os.File)
	if command != "" || !ok || !term.IsTerminal(int(in.Fd())) {
		return nil, func() {}, nil
	}
	fd := int(in.Fd())
	width, height, err := term.GetSize(fd)
	if err != nil {
		width, height = 80, 24
	}
	before, err := term.MakeRaw(fd)
	if err != nil {
		return nil, func() {}, err
	}
	kind := os.Getenv("TERM")
	if strings.TrimSpace(kind) == "" {
		kind = "vt100"
	}
	terminal := &remote.Terminal{Type: kind, Size: remote.Size{Width: width, Height: height}, Resized: resized(ctx, fd)}
	return terminal, func() { _ = term.Restore(fd, before) }, nil
}

// resized returns a channel of the terminal's new sizes.
func resized(ctx context.Context, fd int) <-chan remote.Size {
	changes := make(chan os.Signal, 1)
	signal.Notify(changes, syscall.SIGWINCH)
	sizes := make(chan remote.Size)
	go func() {
		defer signal.Stop(changes)
		for {
			select {
			case <-ctx.Done():
				return
			case <-changes:
			}
			width, height, err := term.GetSize(fd)
			if err != nil {
				continue
			}
			select {
			case <-ctx.Done():
				return
			case sizes <- remote.Size{Width: width, Height: height}:
			}
		}
	}()
	return sizes
}
