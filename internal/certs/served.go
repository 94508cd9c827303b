package certs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"k8s.io/client-go/rest"
)

// handshake bounds the look at what one address serves.
const handshake = 10 * time.Second

// shown returns the end of the certificate that an API server shows. Nothing is sent to it
// or taken from it, so it need not be verified: one that has ended is looked at too.
func shown(ctx context.Context, config *rest.Config) (time.Time, error) {
	u, err := url.Parse(config.Host)
	if err != nil {
		return time.Time{}, fmt.Errorf("reading the server's URL: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, handshake, fmt.Errorf("no answer within %s", handshake))
	defer cancel()
	dial := config.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	raw, err := dial(ctx, "tcp", u.Host)
	if err != nil {
		return time.Time{}, err
	}
	defer raw.Close()
	name := config.TLSClientConfig.ServerName
	if name == "" {
		name = u.Hostname()
	}
	connection := tls.Client(raw, &tls.Config{ServerName: name, InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}) //nolint:gosec // see above
	if err := connection.HandshakeContext(ctx); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return time.Time{}, fmt.Errorf("the TLS handshake: %w", err)
	}
	chain := connection.ConnectionState().PeerCertificates
	if len(chain) == 0 {
		return time.Time{}, errors.New("it shows no certificate")
	}
	return chain[0].NotAfter.UTC(), nil
}

// address is the host and port of an API.
func address(config *rest.Config) string {
	u, err := url.Parse(config.Host)
	if err != nil {
		return config.Host
	}
	return u.Host
}
