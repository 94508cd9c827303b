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

// Patience is how long to wait for a machine.
type Patience struct {
	// Refused is how long a key may be refused although sshd answers: users are
	// created after sshd starts.
	Refused time.Duration
	// Silent is how long a machine may not answer at all; 0 means forever.
	Silent time.Duration
}

// Await connects to a machine that may still be booting. It fails if waiting does not
// help, as with a wrong host key, or if the patience is over. waiting, if not nil,
// receives the last error before each new attempt.
func Await(ctx context.Context, t Target, patience Patience, waiting func(last error)) (*Machine, error) {
	begun := time.Now()
	var refusedSince time.Time
	for {
		m, err := Open(ctx, t)
		if err == nil {
			return m, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("waiting for SSH: %w", ended(ctx, err))
		}
		if Foreign(err) {
			return nil, fmt.Errorf("%w: the machine at this address is not the one that was created, or somebody intercepts the connection", err)
		}
		if patience.Silent > 0 && time.Since(begun) > patience.Silent {
			return nil, fmt.Errorf("waiting for SSH: no login for %s, see the machine's console: %w", patience.Silent, err)
		}
		switch refused := strings.Contains(err.Error(), "unable to authenticate"); {
		case !refused:
			refusedSince = time.Time{}
		case refusedSince.IsZero():
			refusedSince = time.Now()
		case time.Since(refusedSince) > patience.Refused:
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

// ended returns why the wait ended. If the context has a cause it is that alone: the
// current attempt's error then only says that it was cancelled, and the command would
// seem to be interrupted by its user.
func ended(ctx context.Context, last error) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return errors.Join(context.Canceled, last)
}

// Foreign reports whether the other side has another host key.
func Foreign(err error) bool {
	return strings.Contains(err.Error(), "host key mismatch") || strings.Contains(err.Error(), "no common algorithm for host key")
}

// Forward listens on a free port of the loopback interface and forwards every
// connection to an address in the machine's network, until the context ends.
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

// PublicKey returns the public part of a private key, as a line of authorized_keys.
func PublicKey(private string) (string, error) {
	signer, err := ssh.ParsePrivateKey([]byte(private))
	if err != nil {
		return "", errors.New("the private key cannot be read")
	}
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey()))), nil
}
