package remote

import (
	"net"

	"golang.org/x/sys/unix"
)

// endWhenSilent lets the kernel end a connection whose other end acknowledges nothing for
// silentTime (TCP_USER_TIMEOUT, RFC 5482). The questions of keepAlive are what it acknowledges:
// so a machine that is gone is told from one that is slow. Connections that are not TCP stay
// as they are.
func endWhenSilent(connection net.Conn) error {
	tcp, ok := connection.(*net.TCPConn)
	if !ok {
		return nil
	}
	control, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := control.Control(func(socket uintptr) {
		failed = unix.SetsockoptInt(int(socket), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(silentTime.Milliseconds()))
	}); err != nil {
		return err
	}
	return failed
}
