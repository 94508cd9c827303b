package balancer

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// endIdle ends a connection on which no data came from either side for the limit, as HAProxy in an
// amphora does (timeout_client_data, timeout_member_data). Without it, each client that disappeared
// while a member is gone keeps two files open, until the kernel gives up after a quarter of an
// hour. The function that it returns ends the watch. The time of the last data comes from the
// kernel, which copies the data itself (splice).
func endIdle(limit time.Duration, client, server *net.TCPConn) (stop func()) {
	if limit <= 0 {
		return func() {}
	}
	timer := time.NewTimer(limit)
	done := make(chan struct{})
	go func() {
		defer timer.Stop()
		for {
			select {
			case <-done:
				return
			case <-timer.C:
			}
			quiet := min(silence(client), silence(server))
			if quiet >= limit {
				client.Close()
				server.Close()
				return
			}
			timer.Reset(limit - quiet)
		}
	}()
	return func() { close(done) }
}

// forever is the silence of a connection that is closed.
const forever = time.Duration(1<<63 - 1)

// silence returns for how long no data has come from a connection.
func silence(c *net.TCPConn) time.Duration {
	quiet := forever
	raw, err := c.SyscallConn()
	if err != nil {
		return quiet
	}
	raw.Control(func(fd uintptr) { //nolint:errcheck // a closed connection is silent
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			quiet = time.Duration(info.Last_data_recv) * time.Millisecond
		}
	})
	return quiet
}
