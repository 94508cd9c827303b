package remote

import (
	"context"
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

func key(t *testing.T) (private string, signer ssh.Signer) {
	t.Helper()
	_, secret, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(secret, "")
	if err != nil {
		t.Fatal(err)
	}
	signer, err = ssh.NewSignerFromKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(block)), signer
}

// machine is an SSH server that answers commands by a function.
type machine struct {
	target Target
	host   ssh.Signer
	client ssh.Signer
	accept atomic.Bool
	// most is how many sessions one connection may have; 0 means any number.
	most int32
	// refuses is that none is opened at all.
	refuses atomic.Bool
	// cuts is how many connections end when a channel to an address is asked for.
	cuts     atomic.Int32
	commands func(command string, in io.Reader, out, errs io.Writer) uint32
}

func newMachine(t *testing.T, commands func(string, io.Reader, io.Writer, io.Writer) uint32) *machine {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return newMachineAt(t, l, commands)
}

func newMachineAt(t *testing.T, l net.Listener, commands func(string, io.Reader, io.Writer, io.Writer) uint32) *machine {
	t.Helper()
	private, client := key(t)
	_, host := key(t)
	t.Cleanup(func() { l.Close() })
	m := &machine{host: host, client: client, commands: commands}
	m.accept.Store(true)
	m.target = Target{Address: l.Addr().String(), User: "debian", HostKey: string(ssh.MarshalAuthorizedKey(host.PublicKey())), Key: private}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go m.serve(c)
		}
	}()
	return m
}

func (m *machine) serve(c net.Conn) {
	defer c.Close()
	config := &ssh.ServerConfig{PublicKeyCallback: func(meta ssh.ConnMetadata, k ssh.PublicKey) (*ssh.Permissions, error) {
		if !m.accept.Load() || meta.User() != "debian" || string(k.Marshal()) != string(m.client.PublicKey().Marshal()) {
			return nil, errors.New("no")
		}
		return nil, nil
	}}
	config.AddHostKey(m.host)
	_, channels, requests, err := ssh.NewServerConn(c, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	var sessions atomic.Int32
	for channel := range channels {
		switch channel.ChannelType() {
		case "session":
			if n := sessions.Add(1); m.refuses.Load() || m.most > 0 && n > m.most {
				sessions.Add(-1)
				_ = channel.Reject(ssh.Prohibited, "open failed") // as OpenSSH with MaxSessions
				continue
			}
			go func() {
				defer sessions.Add(-1)
				m.session(channel)
			}()
		case "direct-tcpip":
			if m.cuts.Add(-1) >= 0 {
				return
			}
			go forward(channel)
		}
	}
}

func (m *machine) session(n ssh.NewChannel) {
	channel, requests, err := n.Accept()
	if err != nil {
		return
	}
	defer channel.Close()
	for r := range requests {
		if r.Type != "exec" {
			_ = r.Reply(false, nil)
			continue
		}
		var command struct{ Line string }
		_ = ssh.Unmarshal(r.Payload, &command)
		_ = r.Reply(true, nil)
		code := m.commands(command.Line, channel, channel, channel.Stderr())
		_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{code}))
		return
	}
}

func forward(n ssh.NewChannel) {
	var to struct {
		Host string
		Port uint32
		From string
		Back uint32
	}
	_ = ssh.Unmarshal(n.ExtraData(), &to)
	if why, failed := map[uint32]string{1: "Connection refused", 2: "No route to host"}[to.Port]; failed {
		_ = n.Reject(ssh.ConnectionFailed, why)
		return
	}
	channel, requests, err := n.Accept()
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	defer channel.Close()
	_, _ = io.Copy(channel, channel) // an echo
}

func open(t *testing.T, m *machine) *Machine {
	t.Helper()
	c, err := Open(t.Context(), m.target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestAMachineThatIsSharedEndsWithItsLastUser, whoever that is.
func TestAMachineThatIsSharedEndsWithItsLastUser(t *testing.T) {
	t.Parallel()
	c := open(t, newMachine(t, func(_ string, _ io.Reader, out, _ io.Writer) uint32 {
		_, _ = io.WriteString(out, "said")
		return 0
	}))
	users := []*Machine{c, c.Share(), c.Share()}
	for i, user := range users {
		if said, err := user.Run(t.Context(), "true"); err != nil || said != "said" {
			t.Errorf("user %d: %q, %v", i, said, err)
		}
		if err := user.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.Run(t.Context(), "true"); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after the last: %v", err)
	}
}

func TestRunPassesArgumentsAsTheyAre(t *testing.T) {
	t.Parallel()
	m := newMachine(t, func(command string, _ io.Reader, out, _ io.Writer) uint32 {
		_, _ = io.WriteString(out, command)
		return 0
	})
	got, err := open(t, m).Run(t.Context(), "cat", "a b", "$(reboot)", "it's")
	if want := `'sudo' '--non-interactive' '--' 'cat' 'a b' '$(reboot)' 'it'\''s'`; err != nil || got != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
	}
}

func TestAFailureSaysWhatTheProgramSaidAndNotItsArguments(t *testing.T) {
	t.Parallel()
	m := newMachine(t, func(_ string, _ io.Reader, _, errs io.Writer) uint32 {
		_, _ = io.WriteString(errs, strings.Repeat("x", 5000)+"\ndisk is full\n")
		return 7
	})
	_, err := open(t, m).Run(t.Context(), "mkfs", "--secret=hunter2")
	var failure *Failure
	if !errors.As(err, &failure) || failure.Status != 7 || !strings.HasSuffix(err.Error(), "disk is full") || strings.Contains(err.Error(), "hunter2") || len(err.Error()) > 2100 {
		t.Errorf("got %v", err)
	}
}

func TestPipeStreams(t *testing.T) {
	t.Parallel()
	m := newMachine(t, func(_ string, in io.Reader, out, _ io.Writer) uint32 {
		_, _ = io.Copy(out, in)
		return 0
	})
	var out strings.Builder
	if err := open(t, m).Pipe(t.Context(), strings.NewReader("content"), &out, "cat"); err != nil || out.String() != "content" {
		t.Errorf("%v, %q", err, out.String())
	}
}

func TestCancelEndsARun(t *testing.T) {
	t.Parallel()
	m := newMachine(t, func(_ string, in io.Reader, _, _ io.Writer) uint32 {
		_, _ = io.Copy(io.Discard, in) // until the session is closed
		return 0
	})
	c := open(t, m)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
	in, hold := io.Pipe()
	defer hold.Close()
	if err := c.Pipe(ctx, in, nil, "sleep"); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

// A connection that is lost is made again by the next call, and not after Close.
func TestALostConnectionIsMadeAgain(t *testing.T) {
	t.Parallel()
	m := newMachine(t, func(_ string, _ io.Reader, out, _ io.Writer) uint32 {
		_, _ = io.WriteString(out, "here")
		return 0
	})
	var dialled []net.Conn
	m.target.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		dialled = append(dialled, c)
		return c, err
	}
	c := open(t, m)
	run := func() error {
		out, err := c.Run(t.Context(), "true")
		if err == nil && out != "here" {
			t.Errorf("it said %q", out)
		}
		return err
	}
	if err := run(); err != nil || len(dialled) != 1 {
		t.Fatalf("%d connections: %v", len(dialled), err)
	}
	dialled[0].Close()
	<-c.lost
	if err := run(); err != nil || len(dialled) != 2 {
		t.Errorf("after the loss: %d connections, %v", len(dialled), err)
	}
	if err := run(); err != nil || len(dialled) != 2 {
		t.Errorf("again: %d connections, %v", len(dialled), err)
	}
	c.Close()
	if err := run(); !errors.Is(err, net.ErrClosed) || len(dialled) != 2 {
		t.Errorf("after Close: %d connections, %v", len(dialled), err)
	}
}

// mute is a connection to a machine that crashed: nothing arrives there any more.
type mute struct {
	net.Conn
	on *atomic.Bool
}

func (m mute) Write(p []byte) (int, error) {
	if m.on.Load() {
		return len(p), nil
	}
	return m.Conn.Write(p)
}

// TestAMachineThatCrashedHoldsNobodyUp: a program that cannot be started there, or that runs when
// it crashes, ends with its context, for the reason that this has, and not when the connection is
// found to be lost.
func TestAMachineThatCrashedHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"before": false, "while a program runs": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var crashed atomic.Bool
			started, hold := make(chan struct{}), make(chan struct{})
			t.Cleanup(func() { close(hold) })
			m := newMachine(t, func(string, io.Reader, io.Writer, io.Writer) uint32 { close(started); <-hold; return 0 })
			m.target.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				c, err := (&net.Dialer{}).DialContext(ctx, network, address)
				return mute{c, &crashed}, err
			}
			c := open(t, m)
			crashed.Store(!late)
			ctx, end := context.WithCancelCause(t.Context())
			panicked := errors.New("its console says: Kernel panic")
			ran := make(chan error, 1)
			go func() { _, err := c.Run(ctx, "true"); ran <- err }()
			if late {
				<-started
				crashed.Store(true)
			}
			time.AfterFunc(50*time.Millisecond, func() { end(panicked) })
			select {
			case err := <-ran:
				if !errors.Is(err, panicked) {
					t.Errorf("it ended with %v", err)
				}
			case <-time.After(10 * time.Second):
				t.Error("it goes on after its context")
			}
		})
	}
}

// TestAConnectionThatIsEndedHereSaysWhy, where what used it only sees that it ended.
func TestAConnectionThatIsEndedHereSaysWhy(t *testing.T) {
	t.Parallel()
	for name, why := range map[string]error{"by us": errors.New("the machine acknowledges nothing"), "by the machine": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			started, hold := make(chan struct{}), make(chan struct{})
			t.Cleanup(func() { close(hold) })
			c := open(t, newMachine(t, func(string, io.Reader, io.Writer, io.Writer) uint32 { close(started); <-hold; return 0 }))
			go func() {
				<-started
				if why != nil {
					c.why.set(why)
				}
				c.client.Close()
			}()
			_, err := c.Run(t.Context(), "true")
			if err == nil || why != nil && !errors.Is(err, why) || why == nil && strings.Contains(err.Error(), "nothing") {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

// A connection that ends while it is asked for a way to an address is made again once;
// after that it is an error that callers retry.
func TestAWayThatIsCutOff(t *testing.T) {
	t.Parallel()
	m := newMachine(t, nil)
	c := open(t, m)
	m.cuts.Store(1)
	way, err := c.DialContext(t.Context(), "tcp", "127.0.0.1:6443")
	if err != nil {
		t.Fatal(err)
	}
	way.Close()
	m.cuts.Store(2)
	if _, err := c.DialContext(t.Context(), "tcp", "127.0.0.1:6443"); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("cut off twice: %v", err)
	}
	m.cuts.Store(2)
	if _, err := c.DialContext(t.Context(), "tcp", "127.0.0.1:6443"); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("cut off twice again: %v", err)
	}
	c.Close()
	if _, err := c.DialContext(t.Context(), "tcp", "127.0.0.1:6443"); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// proves: S-81
func TestAnotherHostKeyEndsTheWait(t *testing.T) {
	t.Parallel()
	m := newMachine(t, nil)
	_, other := key(t)
	m.target.HostKey = string(ssh.MarshalAuthorizedKey(other.PublicKey()))
	_, err := Await(t.Context(), m.target, Patience{Refused: time.Minute}, nil)
	if err == nil || !strings.Contains(err.Error(), "not the one that was created") {
		t.Errorf("got %v", err)
	}
}

func TestAwaitOutlastsAMachineThatBoots(t *testing.T) {
	t.Parallel()
	m := newMachine(t, nil)
	m.accept.Store(false)
	calls := 0
	target := m.target
	target.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if calls++; calls < 3 {
			return nil, errors.New("connection refused")
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	var said []string
	c, err := Await(t.Context(), target, Patience{Refused: time.Minute}, func(last error) {
		said = append(said, last.Error())
		m.accept.Store(len(said) >= 3) // the user is there at last
	})
	if err != nil || len(said) != 3 || !strings.Contains(said[0], "connection refused") || !strings.Contains(said[2], "unable to authenticate") {
		t.Fatalf("%v after %q", err, said)
	}
	c.Close()
}

func TestAwaitGivesUpOnARefusedKey(t *testing.T) {
	t.Parallel()
	m := newMachine(t, nil)
	m.accept.Store(false)
	if _, err := Await(t.Context(), m.target, Patience{Refused: time.Millisecond}, nil); err == nil || !strings.Contains(err.Error(), "logging in to") {
		t.Errorf("got %v", err)
	}
}

// Whoever ends the wait with a cause has not interrupted the program.
func TestAwaitEndsWithItsCause(t *testing.T) {
	t.Parallel()
	target := newMachine(t, nil).target
	target.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
	for name, cause := range map[string]error{"cause": errors.New("the server is off"), "interrupt": nil} {
		ctx, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Millisecond, func() { stop(cause) })
		_, err := Await(ctx, target, Patience{}, nil)
		if errors.Is(err, context.Canceled) != (cause == nil) || cause != nil && !errors.Is(err, cause) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAwaitEndsWhenNothingAnswers(t *testing.T) {
	t.Parallel()
	target := newMachine(t, nil).target
	target.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("connection refused") }
	_, err := Await(t.Context(), target, Patience{Silent: time.Millisecond}, nil)
	if err == nil || !strings.Contains(err.Error(), "no login for 1ms") || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v", err)
	}
}

func TestForwardReachesTheMachinesNetwork(t *testing.T) {
	t.Parallel()
	c := open(t, newMachine(t, nil))
	ctx, cancel := context.WithCancel(t.Context())
	address, err := c.Forward(ctx, "127.0.0.1:6443")
	if err != nil {
		t.Fatal(err)
	}
	connection, err := net.Dial("tcp", address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	_, _ = connection.Write([]byte("hello"))
	_ = connection.(*net.TCPConn).CloseWrite()
	if got, err := io.ReadAll(connection); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
	cancel()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		probe, err := net.Dial("tcp", address.String())
		if err != nil {
			break
		}
		probe.Close()
		if time.Now().After(end) {
			t.Fatal("it listens after the end of its context")
		}
	}
}

// A server that restarts on the machine is recognised as one here: those who wait for a
// Kubernetes API try again.
func TestARefusedConnectionIsOne(t *testing.T) {
	t.Parallel()
	c := open(t, newMachine(t, nil))
	for address, refused := range map[string]bool{"127.0.0.1:1": true, "127.0.0.1:2": false} {
		_, err := c.DialContext(t.Context(), "tcp", address)
		if err == nil || !strings.Contains(err.Error(), address) || errors.Is(err, syscall.ECONNREFUSED) != refused {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestSecretsStayOutOfErrors(t *testing.T) {
	t.Parallel()
	target := Target{Address: "127.0.0.1:1", User: "debian", HostKey: "ssh-ed25519 AAAA", Key: "-----BEGIN hunter2"}
	if _, err := Open(t.Context(), target); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

func TestSessionReturnsTheCommandsStatus(t *testing.T) {
	t.Parallel()
	m := newMachine(t, func(command string, in io.Reader, out, errs io.Writer) uint32 {
		_, _ = io.WriteString(out, command)
		_, _ = io.WriteString(errs, "careful")
		return 3
	})
	var out, errs strings.Builder
	status, err := open(t, m).Session(t.Context(), Streams{strings.NewReader(""), &out, &errs}, nil, "kubectl get pods")
	if err != nil || status != 3 || out.String() != "kubectl get pods" || errs.String() != "careful" {
		t.Errorf("%d, %v, %q, %q", status, err, out.String(), errs.String())
	}
}
