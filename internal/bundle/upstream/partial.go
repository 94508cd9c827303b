package upstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// validatorSuffix ends the name of the file that holds what the server calls
// this state of its content, for If-Range.
const validatorSuffix = ".validator"

// partial is a download that may be incomplete, under the name of the digest
// that it shall have. It survives the process.
type partial struct {
	path string
	file *os.File
	hash hash.Hash
	size int64
}

// openPartial opens or creates a partial and hashes what is there already.
func openPartial(ctx context.Context, dir, sha string) (*partial, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, sha)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	p := &partial{path: path, file: file, hash: sha256.New()}
	if p.size, err = io.Copy(p.hash, cancellable(ctx, file)); err != nil {
		file.Close()
		return nil, err
	}
	return p, nil
}

type readFunc func([]byte) (int, error)

func (r readFunc) Read(b []byte) (int, error) { return r(b) }

// cancellable reads until the context ends.
func cancellable(ctx context.Context, r io.Reader) io.Reader {
	return readFunc(func(b []byte) (int, error) {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		return r.Read(b)
	})
}

// Write appends.
func (p *partial) Write(b []byte) (int, error) {
	n, err := p.file.Write(b)
	p.hash.Write(b[:n])
	p.size += int64(n)
	return n, err
}

// sum is the hex digest of what is there.
func (p *partial) sum() string { return hex.EncodeToString(p.hash.Sum(nil)) }

// validator is what the server called the content, or "".
func (p *partial) validator() string {
	text, err := os.ReadFile(p.path + validatorSuffix)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// restart drops what is there and notes the validator of what comes. The
// content goes first: a validator must never vouch for bytes of another answer.
func (p *partial) restart(validator string) error {
	if err := p.file.Truncate(0); err != nil {
		return err
	}
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	p.hash.Reset()
	p.size = 0
	return os.WriteFile(p.path+validatorSuffix, []byte(validator), 0o644)
}

// close closes the file; what is there stays.
func (p *partial) close() error { return p.file.Close() }

// discard removes what is there.
func (p *partial) discard() {
	p.file.Close()
	removePartial(p.path)
}

func removePartial(path string) {
	_ = os.Remove(path)
	_ = os.Remove(path + validatorSuffix)
}

// sweep removes the partials of content that no pin asks for any more.
func (p *puller) sweep() {
	wanted := map[string]bool{}
	for _, pin := range p.Pins.Entries {
		wanted[pin.SHA256] = true
	}
	entries, _ := os.ReadDir(p.partials())
	for _, entry := range entries {
		if !wanted[strings.TrimSuffix(entry.Name(), validatorSuffix)] {
			_ = os.Remove(filepath.Join(p.partials(), entry.Name()))
		}
	}
}

// dropDamaged removes a stored blob whose content does not have its digest, so
// that the folder does not take its size as proof. Each digest is looked at
// once in a run, before the run stores it, because later looks could hit the
// blob while it is replaced.
func (p *puller) dropDamaged(ctx context.Context, sha string) {
	once, _ := p.checked.LoadOrStore(sha, &sync.Once{})
	once.(*sync.Once).Do(func() {
		file, err := os.Open(p.folder.Blob(sha))
		if err != nil {
			return
		}
		defer file.Close()
		sum := sha256.New()
		_, err = io.Copy(sum, cancellable(ctx, file))
		if err == nil && hex.EncodeToString(sum.Sum(nil)) != sha {
			_ = os.Remove(p.folder.Blob(sha))
		}
	})
}
