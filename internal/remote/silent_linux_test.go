package remote

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAMachineThatIsGoneEndsItsConnection: the kernel has the limit, and what is no TCP has none.
func TestAMachineThatIsGoneEndsItsConnection(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	connection, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if err := endWhenSilent(connection); err != nil {
		t.Fatal(err)
	}
	control, err := connection.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var limit int
	if controlErr := control.Control(func(socket uintptr) {
		limit, err = unix.GetsockoptInt(int(socket), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
	}); controlErr != nil || err != nil || limit != int(silentTime.Milliseconds()) {
		t.Errorf("limit %d ms (%v, %v)", limit, controlErr, err)
	}
	pipe, other := net.Pipe()
	defer pipe.Close()
	defer other.Close()
	if err := endWhenSilent(pipe); err != nil {
		t.Errorf("a pipe: %v", err)
	}
}
