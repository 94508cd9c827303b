package remote

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestAMachineThatIsGoneIsSilent, one that is slow or has not been asked is not.
func TestAMachineThatIsGoneIsSilent(t *testing.T) {
	t.Parallel()
	const long = 70_000 // milliseconds
	for name, c := range map[string]struct {
		info unix.TCPInfo
		want bool
	}{
		"nothing was sent":           {unix.TCPInfo{Last_ack_recv: 10 * long}, false},
		"data is sent again":         {unix.TCPInfo{Last_ack_recv: long, Retransmits: 8}, true},
		"data is sent again just so": {unix.TCPInfo{Last_ack_recv: 500, Retransmits: 3}, false},
		"one probe is on its way":    {unix.TCPInfo{Last_ack_recv: 2 * long, Probes: 1}, false},
		"no probe is answered":       {unix.TCPInfo{Last_ack_recv: 2 * long, Probes: 2}, true},
	} {
		if got := silent(&c.info, time.Minute); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestAMachineThatDoesNotReadKeepsItsConnection: its kernel acknowledges that it has no room.
func TestAMachineThatDoesNotReadKeepsItsConnection(t *testing.T) {
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
	_ = connection.SetWriteDeadline(time.Now().Add(time.Second))
	for err == nil { // until nothing more is taken
		_, err = connection.Write(make([]byte, 1<<20))
	}
	control, err := connection.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { watch(connection, control, 50*time.Millisecond, 500*time.Millisecond, &reason{}); close(ended) }()
	select {
	case <-ended:
		t.Error("the connection was closed")
	case <-time.After(3 * time.Second):
	}
	_ = connection.Close()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the watch outlives its connection")
	}
	pipe, other := net.Pipe()
	defer pipe.Close()
	defer other.Close()
	if err := endWhenSilent(pipe, &reason{}); err != nil {
		t.Errorf("a pipe: %v", err)
	}
}
