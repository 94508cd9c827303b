// Package retry knows errors of API servers that go away when the request is made again. It is
// a package of its own because servers that count every megabyte use it.
package retry

import (
	"errors"
	"net"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// Helps reports whether an error is typical of an API server whose etcd is joined
// by a member, or that is very slow: a leader change, a timeout, a closed connection. A
// retry helps. An emulated server that sets up Cluster API was seen to take more than 10 s
// for a TLS handshake.
func Helps(err error) bool {
	for _, word := range []string{"etcdserver: leader changed", "etcdserver: no leader", "etcdserver: request timed out", "for learner",
		"http2: client connection force closed"} {
		if strings.Contains(err.Error(), word) {
			return true
		}
	}
	return apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || utilnet.IsTimeout(err) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ETIMEDOUT) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err)
}
