package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"
)

// reason is why a connection was ended here: what used it only sees that it ended.
type reason struct{ atomic.Pointer[error] }

func (r *reason) set(err error) { r.CompareAndSwap(nil, &err) }

// because adds to the error of what ended with its connection why that was ended.
func (m *Machine) because(err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.why == nil {
		return err
	}
	if why := m.why.Load(); why != nil {
		return fmt.Errorf("%w: %w", *why, err)
	}
	return err
}

// login connects and logs in.
func (t Target) login(ctx context.Context, why *reason) (*ssh.Client, error) {
	config, err := t.config()
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", t.Address, err)
	}
	connection, err := t.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", t.Address, err)
	}
	if err := endWhenSilent(connection, why); err != nil {
		connection.Close()
		return nil, fmt.Errorf("connecting to %s: %w", t.Address, err)
	}
	stop := context.AfterFunc(ctx, func() { connection.Close() })
	_ = connection.SetDeadline(time.Now().Add(handshakeTime))
	transport, channels, requests, err := ssh.NewClientConn(connection, t.Address, config)
	if !stop() {
		err = errors.Join(context.Cause(ctx), err)
	}
	if err != nil {
		connection.Close()
		return nil, fmt.Errorf("logging in to %s as %s: %w", t.Address, t.User, err)
	}
	_ = connection.SetDeadline(time.Time{})
	return ssh.NewClient(transport, channels, requests), nil
}

func (t Target) dial(ctx context.Context) (net.Conn, error) {
	if t.Dial != nil {
		return t.Dial(ctx, "tcp", t.Address)
	}
	dialer := net.Dialer{Timeout: 5 * time.Second}
	if !t.full {
		dialer.Control = smallPackets
	}
	return dialer.DialContext(ctx, "tcp", t.Address)
}

func (t Target) config() (*ssh.ClientConfig, error) {
	signer, err := ssh.ParsePrivateKey([]byte(t.Key))
	if err != nil {
		return nil, errors.New("the private key cannot be read")
	}
	hostKey, _, _, _, err := ssh.ParseAuthorizedKey([]byte(t.HostKey))
	if err != nil {
		return nil, fmt.Errorf("host key: %w", err)
	}
	return &ssh.ClientConfig{
		User: t.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)},
		HostKeyCallback: ssh.FixedHostKey(hostKey), HostKeyAlgorithms: []string{hostKey.Type()},
		Timeout: handshakeTime,
	}, nil
}

// keepAlive closes the connection of a machine that is gone, so that nothing waits for
// it, and then lost.
func keepAlive(client *ssh.Client, lost chan<- struct{}, why *reason) {
	defer close(lost)
	ticker := time.NewTicker(aliveEvery)
	defer ticker.Stop()
	ended := make(chan struct{})
	go func() { _ = client.Wait(); close(ended) }()
	for {
		select {
		case <-ended:
			return
		case <-ticker.C:
			answered := make(chan error, 1)
			go func() {
				_, _, err := client.SendRequest("keepalive@openssh.com", true, nil)
				answered <- err
			}()
			select {
			case err := <-answered:
				if err == nil {
					continue
				}
			case <-time.After(aliveTime):
				why.set(fmt.Errorf("sshd answers nothing for %s", aliveTime))
			}
			_ = client.Close()
			return
		}
	}
}
