//go:build !linux

package remote

import "net"

// endWhenSilent does nothing: keepAlive alone finds out that a machine is gone.
func endWhenSilent(net.Conn, *reason) error { return nil }

// setSegment does nothing: macOS finds out by itself that large packets are lost.
func setSegment(uintptr, int) error { return nil }
