package engine

import (
	"net"
	"os"

	"github.com/vishvananda/netlink"
)

// ownOnly accepts connections of this user's processes only. The engine's protocol has no
// authentication, and a client of the provider acts with the operator's credentials.
type ownOnly struct{ net.Listener }

// Accept returns the next connection of this user and closes others.
func (l ownOnly) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if own(conn) {
			return conn, nil
		}
		conn.Close()
	}
}

// own reports whether the other end of a loopback connection belongs to this
// user, by the kernel's table of sockets.
func own(conn net.Conn) bool {
	socket, err := netlink.SocketGet(conn.RemoteAddr(), conn.LocalAddr())
	return err == nil && int(socket.UID) == os.Geteuid()
}
