package try

import (
	"io"
	"net"
	"testing"
)

// TestOnlyABannerIsSSH: QEMU accepts connections for a guest in which nothing listens.
func TestOnlyABannerIsSSH(t *testing.T) {
	t.Parallel()
	for says, want := range map[string]bool{"SSH-2.0-OpenSSH_9.2\r\n": true, "HTTP/1.1 400\r\n": false, "SSH": false, "": false} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { listener.Close() })
		go func() {
			if conn, err := listener.Accept(); err == nil {
				_, _ = io.WriteString(conn, says)
				conn.Close()
			}
		}()
		if got := speaksSSH(t.Context(), net.Dialer{}, listener.Addr().String()); got != want {
			t.Errorf("%q: %v", says, got)
		}
		listener.Close()
		if speaksSSH(t.Context(), net.Dialer{}, listener.Addr().String()) {
			t.Errorf("nobody listens at %s", listener.Addr())
		}
	}
}
