// Package remote runs programs on a machine over SSH, with a host key that is known
// beforehand and a dedicated private key, and opens connections through the machine
// into its network. It does not use a local shell.
package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
)

// Target is a machine and how to log in.
type Target struct {
	// Address is host and port.
	Address string
	User    string
	// HostKey is the machine's public key as a line of authorized_keys. No other
	// host key is accepted (row S-81).
	HostKey string
	// Key is the private key in OpenSSH's PEM format.
	Key string
	// Dial opens connections; nil means the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// full is that packets have the size that both ends believe in, not segment.
	full bool
}

// Machine is a connection to a machine. It is safe for concurrent use. What is asked of it
// after the connection was lost connects again: a slow machine may not answer for a minute.
type Machine struct {
	target Target
	name   string
	turns  turns

	mu     sync.Mutex
	client *ssh.Client
	// lost is closed when the connection has ended, and why is why it was ended here.
	lost   <-chan struct{}
	why    *reason
	closed bool
	// shared is how many close it besides who opened it.
	shared int
}

const (
	// handshakeTime bounds the SSH handshake: a booting machine accepts connections before
	// sshd answers, and an emulated one that starts k3s was seen to take more than 10 s.
	handshakeTime = 45 * time.Second
	// aliveEvery is how often an open connection is checked, and aliveTime how long sshd may
	// take to answer. An emulated machine that had large definitions to read took more than a
	// minute; one that is gone acknowledges nothing, and silentTime ends that earlier.
	aliveEvery = 15 * time.Second
	aliveTime  = 5 * time.Minute
	// silentTime is how long the machine's kernel may take to acknowledge what is sent.
	silentTime = time.Minute
)

// Host is the machine's address without the port.
func (m *Machine) Host() string {
	host, _, err := net.SplitHostPort(m.name)
	if err != nil {
		return m.name
	}
	return host
}

// Open connects to the machine, once.
func Open(ctx context.Context, t Target) (*Machine, error) {
	m := &Machine{target: t, name: t.Address}
	if _, err := m.connected(ctx); err != nil {
		return nil, err
	}
	return m, nil
}

// connected returns the connection, a new one if the last was lost.
func (m *Machine) connected(ctx context.Context) (*ssh.Client, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, fmt.Errorf("the connection to %s: %w", m.name, net.ErrClosed)
	}
	if m.client != nil {
		select {
		case <-m.lost:
		default:
			return m.client, nil
		}
	}
	why := &reason{}
	client, err := m.target.login(ctx, why)
	if err != nil {
		return nil, err
	}
	lost := make(chan struct{})
	m.client, m.lost, m.why = client, lost, why
	go keepAlive(client, lost, why)
	return client, nil
}

// Share returns the machine for another who will close it.
func (m *Machine) Share() *Machine {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shared++
	return m
}

// Close ends the connection for good, once all who share it have closed it.
func (m *Machine) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	if m.shared > 0 {
		m.shared--
		return nil
	}
	m.closed = true
	if m.client == nil {
		return nil
	}
	return m.client.Close()
}

// DialContext connects to an address from the machine's point of view. A connection that
// the address refuses is syscall.ECONNREFUSED, as without SSH, and one to a machine that
// was lost meanwhile and again is syscall.ECONNRESET, so that callers who retry while a
// server restarts recognise them.
func (m *Machine) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	connection, lost, err := m.dial(ctx, network, address)
	if lost {
		connection, lost, err = m.dial(ctx, network, address)
	}
	switch {
	case refusedByTarget(err):
		err = syscall.ECONNREFUSED
	case lost:
		err = fmt.Errorf("%w: %w", syscall.ECONNRESET, err)
	}
	if err != nil {
		return nil, fmt.Errorf("connecting from %s to %s: %w", m.name, address, err)
	}
	return connection, nil
}

// dial opens a channel to an address. lost says that the connection ended before, which Close
// does not count as: after that none is made again.
func (m *Machine) dial(ctx context.Context, network, address string) (connection net.Conn, lost bool, err error) {
	client, err := m.connected(ctx)
	if err != nil {
		return nil, false, err
	}
	connection, err = client.DialContext(ctx, network, address)
	if lost = cutOff(err); lost {
		m.leave(client)
	}
	return connection, lost, err
}

// leave ends a connection that is lost, so that the next one is made at once.
func (m *Machine) leave(client *ssh.Client) {
	_ = client.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.client == client && !m.closed {
		m.client = nil
	}
}

// cutOff tells whether the connection ended before a channel was open, so that nothing has been
// done through it. If it ended while that was asked for, the library has no error for it: it
// names the type of the answer, and there was none (mux.go, OpenChannel, of
// golang.org/x/crypto/ssh). If it had ended just before, the error is the transport's.
func cutOff(err error) bool {
	if err == nil {
		return false
	}
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE, syscall.ETIMEDOUT} {
		if errors.Is(err, end) {
			return true
		}
	}
	return strings.HasSuffix(err.Error(), "in response to channel open: <nil>")
}

// refusedByTarget tells whether sshd reached the target's host, which refused. The reason
// SSH_OPEN_CONNECT_FAILED (RFC 4254, 5.1) covers every failure; sshd's message is the
// words of connect(2), in the C locale of a service.
func refusedByTarget(err error) bool {
	var failure *ssh.OpenChannelError
	return errors.As(err, &failure) && failure.Reason == ssh.ConnectionFailed && strings.EqualFold(failure.Message, "connection refused")
}

// Failure is the error of a program that failed.
type Failure struct {
	// Program is its name, without arguments, which may contain secrets.
	Program string
	// Status is its exit status, -1 if a signal ended it.
	Status int
	// Said is the end of its standard error.
	Said string
}

// Error returns what the program wrote to standard error, else its exit status.
func (f *Failure) Error() string {
	if f.Said == "" {
		return fmt.Sprintf("%s: exit status %d", f.Program, f.Status)
	}
	return f.Program + ": " + f.Said
}

// Run runs a program as root and returns its output. The arguments are passed on
// literally.
func (m *Machine) Run(ctx context.Context, program string, args ...string) (string, error) {
	var out bytes.Buffer
	err := m.Pipe(ctx, nil, &out, program, args...)
	return out.String(), err
}

// Pipe runs a program as root between two streams; nil means none.
func (m *Machine) Pipe(ctx context.Context, in io.Reader, out io.Writer, program string, args ...string) error {
	session, leave, err := m.session(ctx, "running "+program)
	if err != nil {
		return err
	}
	defer leave()
	said := &tail{limit: 2000}
	session.Stdin, session.Stdout, session.Stderr = in, out, said
	err = within(ctx, session, func() error {
		return session.Run(Command(append([]string{"sudo", "--non-interactive", "--", program}, args...)...))
	})
	if ctx.Err() != nil {
		return fmt.Errorf("running %s on %s: %w", program, m.name, context.Cause(ctx))
	}
	if exit := (*ssh.ExitError)(nil); errors.As(err, &exit) {
		status := exit.ExitStatus()
		if exit.Signal() != "" {
			status = -1
		}
		return &Failure{Program: program, Status: status, Said: strings.TrimSpace(said.String())}
	}
	if err != nil {
		return fmt.Errorf("running %s on %s: %w", program, m.name, m.because(err))
	}
	return nil
}

// Command quotes words for the shell that sshd starts, so that it passes them on
// literally.
func Command(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}

// tail keeps the end of what is written to it.
type tail struct {
	limit int
	kept  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - t.limit; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.kept) }
