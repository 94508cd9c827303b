package remote

import (
	"context"
	"io"
	"net"
)

// join copies in both directions between a connection and an address in the machine's
// network until both sides have closed.
func (m *Machine) join(ctx context.Context, local net.Conn, address string) {
	defer local.Close()
	far, err := m.DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	defer far.Close()
	stop := context.AfterFunc(ctx, func() { local.Close(); far.Close() })
	defer stop()
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(far, local)
		closeWrite(far)
		close(done)
	}()
	_, _ = io.Copy(local, far)
	closeWrite(local)
	<-done
}

// closeWrite tells the other side that nothing more comes.
func closeWrite(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
