package remote

import (
	"fmt"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lookEvery is the time between two looks at what the machine's kernel acknowledges.
const lookEvery = 5 * time.Second

// endWhenSilent closes a connection whose other end acknowledges nothing for silentTime. The
// questions of keepAlive are what it acknowledges: so a machine that is gone is told from one that
// is slow. The kernel's own limit (TCP_USER_TIMEOUT) does not tell them apart: it also ends a
// connection whose other end acknowledges, but has no room because its sshd does not read
// (commit 9d9b1ee0b2d1 of Linux). Connections that are not TCP stay as they are.
func endWhenSilent(connection net.Conn, why *reason) error {
	tcp, ok := connection.(*net.TCPConn)
	if !ok {
		return nil
	}
	control, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	go watch(tcp, control, lookEvery, silentTime, why)
	return nil
}

// watch ends with the connection.
func watch(connection net.Conn, control syscall.RawConn, every, limit time.Duration, why *reason) {
	for range time.Tick(every) {
		var info *unix.TCPInfo
		var err error
		if ended := control.Control(func(socket uintptr) {
			info, err = unix.GetsockoptTCPInfo(int(socket), unix.IPPROTO_TCP, unix.TCP_INFO)
		}); ended != nil || err != nil {
			return
		}
		if silent(info, limit) {
			why.set(fmt.Errorf("the machine acknowledges nothing for %s", limit))
			_ = connection.Close()
			return
		}
	}
}

// silent reports whether the other end has acknowledged nothing for a time in which it was asked
// more than once: by data that was sent again, or by probes for room, which can be two minutes
// apart.
func silent(info *unix.TCPInfo, limit time.Duration) bool {
	asked := info.Retransmits >= 3 || info.Probes >= 2
	return asked && time.Duration(info.Last_ack_recv)*time.Millisecond > limit
}

// setSegment bounds what a packet of a connection carries, before it is made.
func setSegment(socket uintptr, size int) error {
	return unix.SetsockoptInt(int(socket), unix.IPPROTO_TCP, unix.TCP_MAXSEG, size)
}
