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
	"github.com/slipway-sh/slipway/internal/printable"
	"github.com/slipway-sh/slipway/internal/remote"
	"github.com/slipway-sh/slipway/internal/ui"
)

// New returns the command.
func New(streams ui.Streams) *cobra.Command {
	var from environment.Flags
	var forward string
	cmd := &cobra.Command{
		Use:   "ssh [-- COMMAND [ARGUMENT]...]",
		Short: "Log in to the seed, or run a command on it",
		Long: `Opens a shell on the seed, or runs a command there. Address, user and host key come
from the state, so it works wherever you can read the state. A seed with a different
host key is refused. The exit code is that of the command.

With --forward it connects standard input and output to a host and port as the seed sees
them, like ssh -W. As ssh's ProxyCommand it reaches the machines behind the seed.`,
		Example: `  slipway ssh
  slipway ssh -- sudo kubectl get pods -A
  slipway ssh -- sudo journalctl -u k3s -n 50
  ssh -o ProxyCommand="slipway ssh --forward %h:%p" debian@10.6.0.12`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if forward != "" {
				return through(cmd.Context(), streams, from, forward, args)
			}
			return run(cmd.Context(), streams, from, args)
		},
	}
	from.Add(cmd.Flags())
	cmd.Flags().StringVarP(&forward, "forward", "W", "", "connect to HOST:PORT through the seed instead of opening a shell")
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
	status, err := machine.Session(ctx, remote.Streams{In: streams.In, Out: printable.Raw(streams.Out), Err: printable.Raw(streams.Err)}, terminal, command)
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
