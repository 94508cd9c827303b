package remote

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Upload is a file that a machine shall have.
type Upload struct {
	// Path is absolute.
	Path string
	// Mode is octal, as "0755". The file belongs to root.
	Mode string
	// Size is in bytes, SHA256 in hexadecimal.
	Size   int64
	SHA256 string
	// From opens the content from an offset on. It is called again when the connection was
	// lost, and must give the same bytes each time.
	From func(ctx context.Context, offset int64) (io.ReadCloser, error)
}

// Sending is how files are sent.
type Sending struct {
	// Lost is how long the machine may not answer; 0 means that a lost connection ends
	// the transfer.
	Lost time.Duration
	// Pause is how long to wait before a connection is made again.
	Pause time.Duration
	// Tell, if not nil, takes how many bytes of the file are there.
	Tell func(done, total int64)
	// Again, if not nil, takes why the connection is made again.
	Again func(why error)
}

//go:embed send.sh
var sendScript string

// The exit statuses of sendScript, from sysexits(3).
const (
	otherOffset = 75
	otherDigest = 65
)

// errPart says that what the machine has changed between two questions.
var errPart = errors.New("the part of the file on the machine has changed")

// Send brings a file to the machine, unless it is there with the right digest; sent tells
// which. Bytes that arrived before are not sent again, also not those of an earlier run.
// The file appears in its place whole and right or not at all. Nothing is kept in memory,
// and the machine needs no more than a POSIX shell, coreutils and sudo.
func (m *Machine) Send(ctx context.Context, u Upload, how Sending) (sent bool, err error) {
	begun := time.Now()
	var answered atomic.Int64 // since begun; SSH may read the file for a moment after its session has ended
	for restarted := false; ; {
		sent, err = m.sendOnce(ctx, u, how, func() { answered.Store(int64(time.Since(begun))) })
		failure := (*Failure)(nil)
		known := (*fault.Fault)(nil)
		switch {
		case err == nil, ctx.Err() != nil, errors.As(err, &known):
			return sent, err
		case errors.As(err, &failure) && failure.Status == otherDigest && !restarted:
			// A part of an earlier run may be damaged, by a loss of power for example:
			// it is gone, and the file is sent once more.
			restarted = true
			continue
		case errors.As(err, &failure):
			return sent, m.explainSend(u, failure)
		case time.Since(begun)-time.Duration(answered.Load()) >= how.Lost:
			return sent, fault.New("sending "+u.Path+" to "+m.name, err, "run the same command again: what arrived is kept")
		}
		if how.Again != nil {
			how.Again(err)
		}
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-time.After(how.Pause):
		}
	}
}

// sendOnce sends what is missing over one connection.
func (m *Machine) sendOnce(ctx context.Context, u Upload, how Sending, answers func()) (sent bool, err error) {
	out, err := m.script(ctx, nil, "state", u, strconv.FormatInt(u.Size, 10))
	if err != nil {
		return false, err
	}
	answers()
	if strings.TrimSpace(out) == "there" {
		return false, nil
	}
	var offset, free int64
	if _, err := fmt.Sscan(out, &offset, &free); err != nil {
		return false, fmt.Errorf("reading the state of %s: %w", u.Path, err)
	}
	if missing := u.Size - offset; missing>>10 >= free {
		return false, noRoom(u.Path, fmt.Errorf("%d MiB are missing, but only %d MiB are free", (missing+1<<20-1)>>20, free>>10))
	}
	if offset < u.Size {
		if err := m.appendFrom(ctx, u, offset, how, answers); err != nil {
			return false, err
		}
	}
	_, err = m.script(ctx, nil, "place", u)
	return err == nil, err
}

func (m *Machine) appendFrom(ctx context.Context, u Upload, offset int64, how Sending, answers func()) error {
	content, err := u.From(ctx, offset)
	if err != nil {
		return fault.New("sending "+u.Path, err, "check the bundle with slipway bundle verify")
	}
	defer content.Close()
	tell := func(done int64) {
		answers() // SSH's window is a few MiB: what was read has nearly arrived
		if how.Tell != nil {
			how.Tell(done, u.Size)
		}
	}
	tell(offset)
	source := &counter{r: content, done: offset, tell: tell}
	_, err = m.script(ctx, source, "append", u, strconv.FormatInt(offset, 10))
	if failure := (*Failure)(nil); errors.As(err, &failure) && failure.Status == otherOffset {
		return errPart // asked again, as after a loss
	}
	if source.failed != nil { // ours, not the machine's
		return fault.New("sending "+u.Path, source.failed, "check the bundle with slipway bundle verify")
	}
	return err
}

// script runs sendScript.
func (m *Machine) script(ctx context.Context, in io.Reader, verb string, u Upload, args ...string) (string, error) {
	var out strings.Builder
	err := m.Pipe(ctx, in, &out, "sh", append([]string{"-c", sendScript, "slipway-send", verb, u.Path, u.SHA256, u.Mode}, args...)...)
	return out.String(), err
}

func (m *Machine) explainSend(u Upload, failure *Failure) error {
	object := u.Path + " on " + m.Host()
	switch {
	case failure.Status == otherDigest:
		return fault.New(object, errors.New("it arrived with another digest, twice; nothing was changed"),
			"check the bundle with slipway bundle verify; if it is whole, the machine's disk or memory is broken: replace the server")
	case strings.Contains(failure.Said, "No space left"):
		return noRoom(u.Path, errors.New(failure.Said))
	case strings.Contains(failure.Said, "Read-only file system"):
		return fault.New(object, failure, "use an image on which "+path.Dir(u.Path)+" can be written to")
	}
	return fault.New(object, failure, "fix what the machine says, then run the same command again: what arrived is kept")
}

func noRoom(file string, err error) error {
	return fault.New("disk of the machine at "+path.Dir(file), err, "use a flavor with a larger disk, or set spec.seed.rootVolume")
}

// counter tells how much was read.
type counter struct {
	r      io.Reader
	done   int64
	tell   func(done int64)
	failed error
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.done += int64(n)
	if n > 0 {
		c.tell(c.done)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		c.failed = err
	}
	return n, err
}
