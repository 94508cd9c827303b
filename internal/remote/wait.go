package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// retryEvery is the time between attempts to log in.
const retryEvery = 250 * time.Millisecond

// Await connects to a machine that may still boot. It ends early when waiting
// cannot help: another host key, or a key that is refused for patience long
// although sshd answers, since user accounts come after sshd. The last error is
// told to waiting, if not nil, before each new attempt.
func Await(ctx context.Context, t Target, patience time.Duration, waiting func(last error)) (*Machine, error) {
	var refusedSince time.Time
	for {
		m, err := Open(ctx, t)
		if err == nil {
			return m, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("waiting for SSH: %w", errors.Join(context.Cause(ctx), err))
		}
		if foreign(err) {
			return nil, fmt.Errorf("%w: the machine at this address is not the one that was made, or somebody is in between", err)
		}
		switch refused := strings.Contains(err.Error(), "unable to authenticate"); {
		case !refused:
			refusedSince = time.Time{}
		case refusedSince.IsZero():
			refusedSince = time.Now()
		case time.Since(refusedSince) > patience:
			return nil, err
		}
		if waiting != nil {
			waiting(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryEvery):
		}
	}
}

// foreign reports whether the other side has another host key.
func foreign(err error) bool {
	return strings.Contains(err.Error(), "host key mismatch") || strings.Contains(err.Error(), "no common algorithm for host key")
}

// Forward listens on a free port of the loopback interface and passes every
// connection on to an address as the machine sees it, until the context ends.
func (m *Machine) Forward(ctx context.Context, address string) (net.Addr, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("forwarding to %s: %w", address, err)
	}
	context.AfterFunc(ctx, func() { l.Close() })
	go func() {
		for {
			local, err := l.Accept()
			if err != nil {
				return
			}
			go m.join(ctx, local, address)
		}
	}()
	return l.Addr(), nil
}

// PublicKey is the public part of a private key, as a line of authorized_keys.
func PublicKey(private string) (string, error) {
	signer, err := ssh.ParsePrivateKey([]byte(private))
	if err != nil {
		return "", errors.New("the private key cannot be read")
	}
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey()))), nil
}
