package disk

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
)

// ErrTooLarge says that an image unpacks to more than it may.
var ErrTooLarge = errors.New("the unpacked image is larger than allowed")

// Bound passes at most limit bytes; one more is ErrTooLarge.
func Bound(r io.Reader, limit int64) io.Reader { return &bounded{r, limit} }

type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, ErrTooLarge
	}
	return n, err
}

// Sums are digests of everything that was written.
type Sums struct {
	hashes map[string]hash.Hash
	size   int64
}

// NewSums begins digests by "sha256" and "sha512".
func NewSums(algorithms ...string) *Sums {
	s := &Sums{hashes: map[string]hash.Hash{}}
	for _, name := range algorithms {
		switch name {
		case "sha256":
			s.hashes[name] = sha256.New()
		case "sha512":
			s.hashes[name] = sha512.New()
		}
	}
	return s
}

// Write never fails.
func (s *Sums) Write(p []byte) (int, error) {
	for _, h := range s.hashes {
		_, _ = h.Write(p)
	}
	s.size += int64(len(p))
	return len(p), nil
}

// Size is how many bytes were written.
func (s *Sums) Size() int64 { return s.size }

// Hex is the digest by an algorithm, "" for one that was not asked for.
func (s *Sums) Hex(algorithm string) string {
	h, ok := s.hashes[algorithm]
	if !ok {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Sealed is a stream that delivers its last bytes only after a check. If the check fails,
// the reader gets the error instead, so the receiver, such as Glance, never has the
// complete stream.
type Sealed struct {
	r     io.Reader
	check func() error
	held  [2][]byte
	which int
	out   []byte
	done  bool
	err   error
}

// Seal returns a sealed stream.
func Seal(r io.Reader, check func() error) *Sealed {
	return &Sealed{r: r, check: check, held: [2][]byte{make([]byte, 0, pieceSize), make([]byte, 0, pieceSize)}}
}

// Read implements io.Reader: it stays one piece behind.
func (s *Sealed) Read(p []byte) (int, error) {
	for len(s.out) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		s.fill()
	}
	n := copy(p, s.out)
	s.out = s.out[n:]
	return n, nil
}

// chunkSize is the most that is written at once, in bytes: HTTP sends that as one
// chunk, and uWSGI, which many Glances run in, refuses chunks of more than 1 MiB
// (chunked-input-limit).
const chunkSize = 512 << 10

// WriteTo writes large parts, so that HTTP sends large chunks.
func (s *Sealed) WriteTo(w io.Writer) (int64, error) {
	var total int64
	for {
		n, err := w.Write(s.out[:min(len(s.out), chunkSize)])
		total += int64(n)
		if s.out = s.out[n:]; err != nil {
			return total, err
		}
		if len(s.out) > 0 {
			continue
		}
		if s.err == io.EOF {
			return total, nil
		}
		if s.err != nil {
			return total, s.err
		}
		s.fill()
	}
}

// fill reads the next piece and hands out the one before.
func (s *Sealed) fill() {
	if s.done {
		s.err = io.EOF
		return
	}
	last, next := s.held[s.which], s.held[1-s.which][:pieceSize]
	n, err := io.ReadFull(s.r, next)
	switch err {
	case nil:
	case io.EOF, io.ErrUnexpectedEOF:
		if err := s.finish(err); err != nil {
			s.err = err
			return
		}
		s.done = true
		s.out = append(last, next[:n]...)
		return
	default:
		s.err = err
		return
	}
	s.out, s.held[1-s.which] = last, next
	s.which = 1 - s.which
}

// finish tells a stream that broke off from one that ended. io.ReadFull says
// io.ErrUnexpectedEOF for both: the source is asked once more.
func (s *Sealed) finish(err error) error {
	if err == io.ErrUnexpectedEOF {
		if n, again := s.r.Read(make([]byte, 1)); n > 0 || again != nil && again != io.EOF {
			return errors.Join(io.ErrUnexpectedEOF, again)
		}
	}
	return s.check()
}

// Complete says that the reader got everything and the check was passed.
func (s *Sealed) Complete() bool { return s.err == io.EOF }

// Err is why the stream did not end well, nil if it did or has not ended.
func (s *Sealed) Err() error {
	if s.err == io.EOF {
		return nil
	}
	return s.err
}

// Spool writes a stream to a temporary file that has no name any more, so that
// nothing of it is left however the process ends. Dir "" is the system's.
func Spool(r io.Reader, dir string) (*os.File, error) {
	file, err := os.CreateTemp(dir, "slipway-image-*")
	if err != nil {
		return nil, fmt.Errorf("creating a temporary file: %w", err)
	}
	err = os.Remove(file.Name())
	if err == nil {
		_, err = io.CopyBuffer(file, onlyReader{r}, make([]byte, pieceSize))
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("writing a temporary file: %w", err)
	}
	return file, nil
}

type onlyReader struct{ io.Reader }
