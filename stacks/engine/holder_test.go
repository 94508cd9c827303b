package engine

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks/engine/httpstate/statetest"
)

// TestWhoseLockMayGo: that of processes which were started here and have ended, of all that hold it.
func TestWhoseLockMayGo(t *testing.T) {
	t.Parallel()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	remote := newScripted(t, nil, func(o *Options) { o.Backend = "s3://states" })
	write(t, remote.notes().path(noProcess-1), "")
	local := newScripted(t, nil)
	for name, test := range map[string]struct {
		in      scripted
		holders []Holder
		want    bool
	}{
		"dead":                     {local, []Holder{{Host: host, PID: noProcess}}, true},
		"both dead":                {local, []Holder{{Host: host, PID: noProcess}, {Host: host, PID: noProcess - 1}}, true},
		"one alive":                {local, []Holder{{Host: host, PID: noProcess}, {Host: host, PID: os.Getpid(), Since: time.Now()}}, false},
		"another process by now":   {local, []Holder{{Host: host, PID: os.Getpid(), Since: time.Unix(0, 0)}}, true},
		"elsewhere":                {local, []Holder{{Host: host + "-2", PID: noProcess}}, false},
		"another program's":        {local, []Holder{{Host: host}}, false},
		"started elsewhere, maybe": {remote, []Holder{{Host: host, PID: noProcess}}, false},
		"started here":             {remote, []Holder{{Host: host, PID: noProcess - 1}}, true},
	} {
		if got := test.in.stale(&Locked{Holders: test.holders}); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestLocksOfAFolder are those of live processes of this host, in files of the engine.
func TestLocksOfAFolder(t *testing.T) {
	t.Parallel()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	lock := func(host string, pid int) string {
		return fmt.Sprintf(`{"pid": %d, "username": "me", "hostname": %q, "timestamp": %q}`, pid, host, time.Now().Format(time.RFC3339))
	}
	dir := t.TempDir()
	if err := CheckFolder(dir); err != nil {
		t.Errorf("without a state: %v", err)
	}
	locks := filepath.Join(dir, ".pulumi", "locks", "prod")
	write(t, filepath.Join(locks, "dead.json"), lock(host, noProcess))
	write(t, filepath.Join(locks, "elsewhere.json"), lock(host+"-2", os.Getpid()))
	write(t, filepath.Join(locks, "alive.json.new"), lock(host, os.Getpid()))
	write(t, filepath.Join(locks, "half.json"), "{")
	write(t, filepath.Join(locks, "folder.json", "x"), "")
	if err := CheckFolder(dir); err != nil {
		t.Errorf("locks that are none: %v", err)
	}
	write(t, filepath.Join(locks, "folder.json", "alive.json"), lock(host, os.Getpid()))
	var locked *Locked
	if err := CheckFolder(dir); !errors.As(err, &locked) || len(locked.Holders) != 1 || locked.Holders[0].User != "me" || locked.Holders[0].PID != os.Getpid() {
		t.Errorf("a lock: %v", err)
	}
	if err := CheckFolder(filepath.Join(locks, "half.json")); err == nil || errors.As(err, &locked) || !strings.HasPrefix(err.Error(), "reading the locks of ") {
		t.Errorf("what is no folder: %v", err)
	}
}

// TestALockOfAServerGoesByItsName: not one that another took meanwhile, and not where nobody answers.
func TestALockOfAServerGoesByItsName(t *testing.T) {
	t.Parallel()
	server := statetest.Start(t, false)
	server.Put(`{"slipway":1,"serial":3,"lineage":"l","environment":"prod","checkpoint":{}}`)
	s := newScripted(t, map[string]string{"stack export": says(`{"deployment": {}}`)}, func(o *Options) { o.Backend, o.Environ = server.URL, append(o.Environ, statetest.Environ()...) })
	if err := s.Unlock(t.Context()); err != nil {
		t.Errorf("a lock that nobody holds: %v", err)
	}
	server.Hold(map[string]any{"ID": "5a1d", "Who": "bob@desk", "Created": "2026-11-20T10:00:00Z"})
	var locked *Locked
	if err := s.unlock(t.Context(), &Locked{Holders: []Holder{{PID: noProcess}}}); !errors.As(err, &locked) || locked.Holders[0].User != "bob" || fault.Remedy(err) == "" || !server.Locked() {
		t.Errorf("one that bob took meanwhile: %v (locked %t)", err, server.Locked())
	}
	if err := s.Unlock(t.Context()); err != nil || server.Locked() {
		t.Errorf("one that is taken away by hand: %v (locked %t)", err, server.Locked())
	}
	server.Break(statetest.Answer(http.StatusForbidden))
	if err := s.Unlock(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "removing the lock: state at "+server.URL) || fault.Remedy(err) == "" {
		t.Errorf("a server that refuses: %v", err)
	}
	if _, err := s.Resources(t.Context()); err == nil || !strings.Contains(err.Error(), "state at "+server.URL) {
		t.Errorf("reading: %v", err)
	}
}

// unknownPeer is a connection that the kernel does not know.
type unknownPeer struct{ net.Conn }

func (unknownPeer) LocalAddr() net.Addr  { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
func (unknownPeer) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 2} }

// strangers is a listener whose first connection is nobody's.
type strangers struct {
	net.Listener
	first net.Conn
}

func (l *strangers) Accept() (net.Conn, error) {
	if first := l.first; first != nil {
		l.first = nil
		return unknownPeer{first}, nil
	}
	return l.Listener.Accept()
}

// TestOthersMayNotSpeakToTheProvider, which acts with the operator's credentials: their connections are
// closed, and one's own are served.
func TestOthersMayNotSpeakToTheProvider(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	here, there := net.Pipe()
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	l := ownOnly{&strangers{listener, here}}
	accepted, err := l.Accept()
	if err != nil || accepted.RemoteAddr().String() != client.LocalAddr().String() {
		t.Fatalf("%v, %v", accepted, err)
	}
	accepted.Close()
	_ = there.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := there.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the stranger's connection is open: %v", err)
	}
	listener.Close()
	if accepted, err := l.Accept(); !errors.Is(err, net.ErrClosed) || accepted != nil {
		t.Errorf("after the end: %v, %v", accepted, err)
	}
}
