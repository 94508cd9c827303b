package remote

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
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
)

// shell is an SSH server whose commands are run by a real shell; sudo is one that becomes
// nobody else. prelude is run by it before each command.
func shell(t *testing.T, prelude string) *machine {
	t.Helper()
	bin := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "install", "-m", "0700", "/dev/stdin", filepath.Join(bin, "sudo"))
	cmd.Stdin = strings.NewReader("#!/bin/sh\nshift 2\n" + prelude + "\nexec \"$@\"\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// The owner is root's in earnest; here it is whoever runs the test.
	cmd = exec.CommandContext(t.Context(), "install", "-m", "0700", "/dev/stdin", filepath.Join(bin, "chown"))
	cmd.Stdin = strings.NewReader("#!/bin/sh\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return newMachine(t, func(command string, in io.Reader, out, errs io.Writer) uint32 {
		run := exec.Command("sh", "-c", command)
		run.Env = []string{"PATH=" + bin + ":/usr/sbin:/usr/bin:/sbin:/bin"}
		run.Stdout, run.Stderr = out, errs
		// Not as Stdin: Wait would wait for the copy, which a dead connection never ends.
		stdin, err := run.StdinPipe()
		if err != nil || run.Start() != nil {
			return 126
		}
		go func() { _, _ = io.Copy(stdin, in); stdin.Close() }()
		err = run.Wait()
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			return uint32(max(exit.ExitCode(), 1))
		}
		return 0
	})
}

// upload is a file of so many bytes for a folder of the test.
func upload(t *testing.T, size int) (Upload, []byte) {
	t.Helper()
	content := make([]byte, size)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(content)
	return Upload{Path: filepath.Join(t.TempDir(), "new folder", "k3s's"), Mode: "0750", Size: int64(size), SHA256: fmt.Sprintf("%x", sha256.Sum256(content)),
		From: func(_ context.Context, offset int64) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(content[offset:])), nil
		}}, content
}

// arrived wants the file in its place, and nothing else beside it.
func arrived(t *testing.T, u Upload, content []byte) {
	t.Helper()
	got, err := os.ReadFile(u.Path)
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d of %d bytes arrived: %v", len(got), len(content), err)
	}
	if info, err := os.Stat(u.Path); err == nil && info.Mode().Perm() != 0o750 {
		t.Errorf("mode %o", info.Mode().Perm())
	}
	if left, _ := os.ReadDir(filepath.Dir(u.Path)); len(left) != 1 {
		t.Errorf("left in the folder: %v", left)
	}
}

func TestAFileIsSentOnce(t *testing.T) {
	t.Parallel()
	c := open(t, shell(t, ""))
	for _, size := range []int{0, 1, 3 << 20} {
		u, content := upload(t, size)
		var told int64
		sent, err := c.Send(t.Context(), u, Sending{Tell: func(done, total int64) { told = done }})
		if err != nil || !sent || told != int64(size) && size > 0 {
			t.Errorf("%d bytes: sent %t, told %d, %v", size, sent, told, err)
		}
		arrived(t, u, content)
		u.From = func(context.Context, int64) (io.ReadCloser, error) { t.Error("read again"); return nil, io.EOF }
		if sent, err := c.Send(t.Context(), u, Sending{}); err != nil || sent {
			t.Errorf("%d bytes again: sent %t, %v", size, sent, err)
		}
	}
}

// What is in the place with another content is replaced, also by a file of equal size.
func TestOtherContentIsReplaced(t *testing.T) {
	t.Parallel()
	c := open(t, shell(t, ""))
	u, content := upload(t, 5000)
	if err := os.MkdirAll(filepath.Dir(u.Path), 0o755); err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(filepath.Dir(u.Path), ".k3s's.0123.part")
	for _, file := range []string{u.Path, stale} {
		if err := os.WriteFile(file, make([]byte, 5000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if sent, err := c.Send(t.Context(), u, Sending{}); err != nil || !sent {
		t.Errorf("sent %t, %v", sent, err)
	}
	arrived(t, u, content)
}

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

// A connection that is cut is made again, and what arrived is not sent again.
func TestALostConnectionGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	m := shell(t, "")
	const size = 12 << 20
	u, content := upload(t, size)
	var left atomic.Int64
	left.Store(size / 2)
	m.target.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return cutting{c, &left}, err
	}
	c := open(t, m)
	var offsets []int64
	from := u.From
	u.From = func(ctx context.Context, offset int64) (io.ReadCloser, error) {
		offsets = append(offsets, offset)
		return from(ctx, offset)
	}
	again := 0
	sent, err := c.Send(t.Context(), u, Sending{Lost: time.Minute, Pause: 10 * time.Millisecond, Again: func(error) { again++; left.Store(2 * size) }})
	if err != nil || !sent || again == 0 {
		t.Fatalf("sent %t after %d losses: %v", sent, again, err)
	}
	arrived(t, u, content)
	if len(offsets) != 2 || offsets[0] != 0 || offsets[1] < size/8 {
		t.Errorf("it was read from %v", offsets)
	}
}

// With an impatient sender the next run goes on.
func TestTheNextRunGoesOn(t *testing.T) {
	t.Parallel()
	m := shell(t, "")
	const size = 4 << 20
	u, content := upload(t, size)
	from := u.From
	u.From = func(ctx context.Context, offset int64) (io.ReadCloser, error) {
		r, err := from(ctx, offset)
		return io.NopCloser(io.MultiReader(io.LimitReader(r, size/2-offset), failing{})), err
	}
	_, err := open(t, m).Send(t.Context(), u, Sending{})
	if err == nil || !strings.Contains(err.Error(), "disk error") || !strings.Contains(fault.Remedy(err), "bundle verify") {
		t.Fatalf("a file that cannot be read: %v", err)
	}
	var began int64
	u.From = func(ctx context.Context, offset int64) (io.ReadCloser, error) {
		began = offset
		return from(ctx, offset)
	}
	if sent, err := open(t, m).Send(t.Context(), u, Sending{}); err != nil || !sent || began != size/2 {
		t.Errorf("sent %t from %d: %v", sent, began, err)
	}
	arrived(t, u, content)
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("disk error") }

// A file that is not what the bill says never comes into its place, and what was there
// stays. A part that was damaged is sent again once.
func TestAnotherDigestIsRefused(t *testing.T) {
	t.Parallel()
	c := open(t, shell(t, ""))
	u, content := upload(t, 1<<20)
	if _, err := c.Send(t.Context(), u, Sending{}); err != nil {
		t.Fatal(err)
	}
	wrong := u
	wrong.SHA256 = strings.Repeat("ab", 32)
	reads := 0
	wrong.From = func(ctx context.Context, offset int64) (io.ReadCloser, error) { reads++; return u.From(ctx, offset) }
	_, err := c.Send(t.Context(), wrong, Sending{Lost: time.Minute})
	if err == nil || !strings.Contains(err.Error(), u.Path) || !strings.Contains(err.Error(), "another digest") || fault.Remedy(err) == "" || reads != 2 {
		t.Errorf("after %d reads: %v", reads, err)
	}
	arrived(t, u, content)

	next, content := upload(t, 2<<20)
	part := filepath.Join(filepath.Dir(next.Path), ".k3s's."+next.SHA256+".part")
	if err := errors.Join(os.MkdirAll(filepath.Dir(part), 0o755), os.WriteFile(part, make([]byte, 1<<20), 0o600)); err != nil {
		t.Fatal(err)
	}
	if sent, err := c.Send(t.Context(), next, Sending{}); err != nil || !sent {
		t.Errorf("after a damaged part: sent %t, %v", sent, err)
	}
	arrived(t, next, content)
}

// A disk that is too small is known before the first byte, and one that fills up is told.
func TestAFullDiskIsTheCause(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ prelude, want string }{
		"before": {`case "$*" in *slipway-send*state*) set -- sh -c 'echo "0 100"' ;; esac`, "3 MiB are missing, but only 0 MiB are free"},
		"during": {`case "$*" in *slipway-send*append*) set -- sh -c 'head -c 1000 >/dev/null; echo "cat: write error: No space left on device" >&2; exit 1' ;; esac`, "No space left on device"},
	} {
		u, _ := upload(t, 3<<20)
		_, err := open(t, shell(t, test.prelude)).Send(t.Context(), u, Sending{Lost: time.Minute})
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), filepath.Dir(u.Path)) || !strings.Contains(fault.Remedy(err), "larger disk") {
			t.Errorf("%s: %v (%s)", name, err, fault.Remedy(err))
		}
		if _, err := os.Stat(u.Path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the file is there", name)
		}
	}
}

// The cat of a lost connection must not write on into what a new one writes.
func TestTheWriterOfALostConnectionEnds(t *testing.T) {
	t.Parallel()
	m := shell(t, "")
	u, content := upload(t, 100000)
	part := filepath.Join(filepath.Dir(u.Path), ".k3s's."+u.SHA256+".part")
	if err := os.MkdirAll(filepath.Dir(part), 0o755); err != nil {
		t.Fatal(err)
	}
	old := exec.CommandContext(t.Context(), "sh", "-c", sendScript, "slipway-send", "append", u.Path, u.SHA256, u.Mode, "0")
	in, err := old.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := old.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = in.Write(content[:1000])
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if info, err := os.Stat(part); err == nil && info.Size() == 1000 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the writer did not begin")
		}
	}
	if _, err := open(t, m).Send(t.Context(), u, Sending{}); err != nil {
		t.Fatal(err)
	}
	arrived(t, u, content)
	if err := old.Wait(); err == nil {
		t.Error("the writer of the lost connection lives on")
	}
}

// A part that is not as long as the sender believes is left as it is: it asks again.
func TestAPartOfAnotherLengthIsNotAppendedTo(t *testing.T) {
	t.Parallel()
	c := open(t, shell(t, ""))
	u, _ := upload(t, 5000)
	part := filepath.Join(filepath.Dir(u.Path), ".k3s's."+u.SHA256+".part")
	if err := errors.Join(os.MkdirAll(filepath.Dir(part), 0o755), os.WriteFile(part, make([]byte, 100), 0o600)); err != nil {
		t.Fatal(err)
	}
	err := c.appendFrom(t.Context(), u, 50, Sending{}, func() {})
	if !errors.Is(err, errPart) {
		t.Errorf("appending at 50 to 100 bytes: %v", err)
	}
	if info, err := os.Stat(part); err != nil || info.Size() != 100 {
		t.Errorf("the part: %v, %v", info, err)
	}
}
