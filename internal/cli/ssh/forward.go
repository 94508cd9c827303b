package ssh

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/printable"
	"github.com/slipway-sh/slipway/internal/ui"
)

// through connects the streams to an address as the seed sees it.
func through(ctx context.Context, streams ui.Streams, from environment.Flags, address string, args []string) error {
	address, err := target.Endpoint(address)
	if err != nil {
		return fault.Usage("--forward", err, "give a host and a port, such as 10.6.0.12:22")
	}
	if len(args) > 0 {
		return fault.Usage("--forward", errors.New("a command is given too"), "give one of them")
	}
	seed, _, err := target.OpenSeed(ctx, from)
	if err != nil {
		return err
	}
	machine, err := seed.Login(ctx)
	if err != nil {
		return err
	}
	defer machine.Close()
	connection, err := machine.DialContext(ctx, "tcp", address)
	if err != nil {
		return fault.New(address, err, "see with slipway status whether the machine is running, and whether the seed reaches its network and port")
	}
	return exchange(ctx, streams, connection)
}

// exchange copies both ways until the other side has said all. The end of standard input
// is passed on, so that the other side can end.
func exchange(ctx context.Context, streams ui.Streams, connection net.Conn) error {
	defer connection.Close()
	stop := context.AfterFunc(ctx, func() { connection.Close() })
	defer stop()
	go func() {
		_, _ = io.Copy(connection, streams.In)
		if half, can := connection.(interface{ CloseWrite() error }); can {
			_ = half.CloseWrite()
		}
	}()
	_, err := io.Copy(printable.Raw(streams.Out), connection)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
