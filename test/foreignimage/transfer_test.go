package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/remote"
	"github.com/slipway-sh/slipway/stacks/payload"
	"github.com/slipway-sh/slipway/stacks/seed"
	"github.com/slipway-sh/slipway/test/foreignimage/machine"
)

// cutting is a connection that ends after so many bytes were written to it.
type cutting struct {
	net.Conn
	left *atomic.Int64
}

func (c cutting) Write(p []byte) (int, error) {
	if c.left.Add(-int64(len(p))) < 0 {
		c.Close()
		return 0, net.ErrClosed
	}
	return c.Conn.Write(p)
}

// file is an upload of random bytes.
func file(path string, size int) remote.Upload {
	content := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(size)}).Read(content)
	return remote.Upload{Path: path, Mode: "0755", Size: int64(size), SHA256: fmt.Sprintf("%x", sha256.Sum256(content)),
		From: func(_ context.Context, offset int64) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(content[offset:])), nil
		}}
}

// TestTransferToDebian sends files to Debian's own sshd, sudo and coreutils: over a
// connection that is cut, with a digest that is wrong, and to a disk that fills up. The
// check of the machine finds every program that it asks for there.
func TestTransferToDebian(t *testing.T) {
	target := machine.Start(t, "16m", nil)
	var left atomic.Int64
	left.Store(1 << 40)
	target.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return cutting{c, &left}, err
	}
	m, err := remote.Await(t.Context(), target, remote.Patience{Refused: time.Minute, Silent: time.Minute}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()

	const size = 40 << 20
	u := file("/usr/local/bin/k3s", size)
	left.Store(size / 2)
	var offsets []int64
	from := u.From
	u.From = func(ctx context.Context, offset int64) (io.ReadCloser, error) {
		offsets = append(offsets, offset)
		return from(ctx, offset)
	}
	how := remote.Sending{Lost: time.Minute, Pause: 50 * time.Millisecond, Again: func(error) { left.Store(1 << 40) }}
	if sent, err := m.Send(t.Context(), u, how); err != nil || !sent || len(offsets) != 2 || offsets[1] < size/8 {
		t.Errorf("over a connection that is cut: sent %t from %v: %v", sent, offsets, err)
	}
	if out, err := m.Run(t.Context(), "stat", "--format", "%s %a %U:%G", u.Path); err != nil || strings.TrimSpace(out) != fmt.Sprintf("%d 755 root:root", size) {
		t.Errorf("the file is %q: %v", out, err)
	}
	if sent, err := m.Send(t.Context(), u, how); err != nil || sent {
		t.Errorf("again: sent %t, %v", sent, err)
	}

	wrong := file("/usr/local/bin/wrong", 100000)
	wrong.SHA256 = strings.Repeat("0", 64)
	if _, err := m.Send(t.Context(), wrong, how); err == nil || !strings.Contains(err.Error(), "another digest") || fault.Remedy(err) == "" {
		t.Errorf("with a wrong digest: %v", err)
	}
	fillUp(t, m, how)
	if out, err := m.Run(t.Context(), "find", "/usr/local/bin", "/usr/share/slipway", "-type", "f", "-name", "*.part*"); err != nil || strings.Contains(out, "wrong") || strings.Contains(out, "k3s") {
		t.Errorf("left behind: %q, %v", out, err)
	}
	checkMachine(t, m)
	bringIptables(t, m, how)
}

// bringIptables brings the bundle's iptables to a machine that has none, and uses it in a
// network of its own.
func bringIptables(t *testing.T, m *remote.Machine, how remote.Sending) {
	t.Helper()
	dir := os.Getenv("SLIPWAY_BUNDLE")
	if dir == "" {
		t.Log("SLIPWAY_BUNDLE names no bundle: iptables is not tried")
		return
	}
	folder, err := bundle.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	brings, err := payload.Of(folder)
	if err != nil {
		t.Fatal(err)
	}
	uploads, err := brings.Uploads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if uploads[0].Path != payload.IptablesArchive {
		t.Fatalf("the first upload is %s", uploads[0].Path)
	}
	if _, err := m.Send(t.Context(), uploads[0], how); err != nil {
		t.Fatal(err)
	}
	for _, f := range brings.Files() {
		if err := m.Pipe(t.Context(), strings.NewReader(f.Content), nil, "install", "-D", "-m", f.Mode, "/dev/stdin", f.Path); err != nil {
			t.Fatal(err)
		}
	}
	const use = `rm -f /usr/sbin/*tables* /usr/lib/x86_64-linux-gnu/libxtables* /usr/lib/x86_64-linux-gnu/libnftnl* /usr/lib/x86_64-linux-gnu/libmnl*
export PATH=/usr/sbin:/usr/bin:/usr/libexec/slipway/sbin
exec unshare --net sh -ec 'iptables --version
iptables --table nat --append POSTROUTING --match comment --comment "of a test" --source 10.42.0.0/16 --jump MASQUERADE
iptables-save --table nat >/run/rules; iptables --table nat --flush; iptables-restore </run/rules
iptables-save --table nat; ip6tables --version; ipset version || true'`
	for range 2 { // the second finds it unpacked
		if out, err := m.Run(t.Context(), "sh", "-c", payload.UnpackIptables); err != nil {
			t.Fatalf("unpacking: %v\n%s", err, out)
		}
	}
	out, err := m.Run(t.Context(), "sh", "-c", use)
	if err != nil || !strings.Contains(out, `--comment "of a test" -j MASQUERADE`) || !strings.Contains(out, "ip6tables v") || !strings.Contains(out, "ipset v") {
		t.Errorf("iptables of the bundle: %v\n%s", err, out)
	}
}

// fillUp sends more than the disk has, and then what fits until another fills it.
func fillUp(t *testing.T, m *remote.Machine, how remote.Sending) {
	t.Helper()
	for name, u := range map[string]remote.Upload{"before": file("/usr/share/slipway/large.tar", 20<<20), "during": file("/usr/share/slipway/small.tar", 10<<20)} {
		from := u.From
		u.From = func(ctx context.Context, offset int64) (io.ReadCloser, error) {
			if name == "before" {
				t.Error("it was sent although the disk is too small")
			}
			_, err := m.Run(ctx, "sh", "-c", "head -c 12000000 /dev/zero >/usr/share/slipway/filler")
			if err != nil {
				return nil, err
			}
			return from(ctx, offset)
		}
		_, err := m.Send(t.Context(), u, how)
		if err == nil || !strings.Contains(err.Error(), "disk of the machine at /usr/share/slipway") || !strings.Contains(fault.Remedy(err), "larger disk") {
			t.Errorf("%s: %v (%s)", name, err, fault.Remedy(err))
		}
	}
	// With room again the next run goes on.
	u := file("/usr/share/slipway/small.tar", 10<<20)
	if _, err := m.Run(t.Context(), "rm", "/usr/share/slipway/filler"); err != nil {
		t.Fatal(err)
	}
	var offset int64
	from := u.From
	u.From = func(ctx context.Context, o int64) (io.ReadCloser, error) { offset = o; return from(ctx, o) }
	if sent, err := m.Send(t.Context(), u, how); err != nil || !sent || offset == 0 {
		t.Errorf("with room again: sent %t from %d: %v", sent, offset, err)
	}
}

// checkMachine asks the machine what a seed must have.
func checkMachine(t *testing.T, m *remote.Machine) {
	t.Helper()
	args := append([]string{"-c", seed.MachineFacts, "machine-facts", "", "10.42.0.0/16", "10.43.0.0/16"}, seed.NeededPrograms()...)
	out, err := m.Run(t.Context(), "sh", args...)
	if err != nil {
		t.Fatal(err)
	}
	facts, err := seed.ParseFacts(out)
	if err != nil || facts.Own || len(facts.Lacks)+len(facts.Denied)+len(facts.NoExec)+len(facts.Blocks)+len(facts.Rivals) > 0 || !strings.HasPrefix(facts.System, "Debian") {
		t.Errorf("%v of %+v from\n%s", err, facts, out)
	}
	_, err = m.Run(t.Context(), "rm", "/usr/bin/cmp")
	out, again := m.Run(t.Context(), "sh", args...)
	facts, parse := seed.ParseFacts(out)
	if err := errors.Join(err, again, parse); err != nil || strings.Join(facts.Lacks, " ") != "cmp" {
		t.Errorf("without cmp it lacks %q: %v", facts.Lacks, err)
	}
}
