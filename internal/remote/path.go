package remote

import (
	"bytes"
	"context"
	"io"
	"syscall"
	"time"
)

// segment is the most that one packet to or from a machine carries (RFC 9293, 3.7.1). Every path
// of IPv6 carries packets of 1,280 bytes (RFC 8200, 5), which are these and 60 to 80 of headers.
// Paths that lose larger ones and do not say so are common: VPNs, and tunnels of clouds whose
// networks have an MTU that is too large. A connection over them logs in, and then hangs.
const segment = 1200

// echoSize is sent to a machine and back, to see whether the path carries full packets. It needs
// at least one in each direction on paths with jumbo frames too.
const echoSize = 64 << 10

// echoTime is how long an echo may take, with the login. An emulated machine that starts k3s was
// seen to take 10 s for a login.
const echoTime = 20 * time.Second

// LosesFullPackets reports whether packets of full size between here and the machine are lost
// although smaller ones arrive: some MTU is wrong. It takes a second, or up to 80 if they are
// lost. False also says that it could not be seen, as with a machine that answers slowly.
func (m *Machine) LosesFullPackets(ctx context.Context) bool {
	return m.losesFullPackets(ctx, echoTime)
}

// losesFullPackets looks twice, in turn with small packets: a machine can be slow for a moment.
func (m *Machine) losesFullPackets(ctx context.Context, limit time.Duration) bool {
	if m.target.Dial != nil {
		return false // the path is another machine's
	}
	full := m.target
	full.full = true
	for range 2 {
		if hung, err := echo(ctx, limit, func(ctx context.Context) (*Machine, error) { return Open(ctx, full) }); err == nil || !hung {
			return false
		}
		if _, err := echo(ctx, limit, func(context.Context) (*Machine, error) { return m.Share(), nil }); err != nil {
			return false
		}
	}
	return true
}

// echo has a machine send back what it gets. hung says that there was a connection, over which no
// answer came in time.
func echo(ctx context.Context, limit time.Duration, open func(context.Context) (*Machine, error)) (hung bool, err error) {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	m, err := open(ctx)
	if err != nil {
		return ctx.Err() != nil, err
	}
	defer m.Close()
	var back counted
	status, err := m.Session(ctx, Streams{In: bytes.NewReader(make([]byte, echoSize)), Out: &back, Err: io.Discard}, nil, "cat")
	if err == nil && (status != 0 || back != echoSize) {
		err = io.ErrUnexpectedEOF
	}
	return ctx.Err() != nil, err
}

// counted is how many bytes were written.
type counted int

func (c *counted) Write(p []byte) (int, error) {
	*c += counted(len(p))
	return len(p), nil
}

// smallPackets is for net.Dialer.Control.
func smallPackets(_, _ string, connection syscall.RawConn) error {
	var err error
	if failed := connection.Control(func(socket uintptr) { err = setSegment(socket, segment) }); failed != nil {
		return failed
	}
	return err
}
