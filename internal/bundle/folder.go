package bundle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/process"
)

// The parts of a bundle's folder besides the bill and the named links. The
// folder is an OCI layout as a whole, so that its images can be served and
// copied by any tool that reads one.
const (
	blobDir    = "blobs/sha256"
	layoutFile = "oci-layout"
	indexFile  = "index.json"
	// WorkDir holds locks, files half written and intermediate results of a
	// build. It is not part of the bundle.
	WorkDir = ".work"
)

// Folder is an opened bundle. A folder opened for writing holds a lock until
// Close; its methods may be called from many goroutines.
type Folder struct {
	dir  string
	lock *process.Lock

	mu   sync.Mutex
	bill *Bill
}

// Digest is the identity of a blob.
type Digest struct {
	SHA256 string
	Size   int64
}

// ErrNone says that a folder is no bundle.
var ErrNone = errors.New("this folder contains no bundle")

// Open opens a bundle for reading. A folder without a bill is ErrNone.
func Open(dir string) (*Folder, error) {
	bill, err := readBill(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Usage(dir, ErrNone, "build one with `slipway bundle build`, or name the folder of one: --bundle, spec.bundle, or --dir of slipway bundle")
	}
	if err != nil {
		return nil, err
	}
	return &Folder{dir: dir, bill: bill}, nil
}

// Create opens a bundle for writing and makes the folder when it is absent.
// What an interrupted writer left half written is removed. A second writer is
// refused with the process and the time of the first.
func Create(dir, platform string) (*Folder, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	for _, sub := range []string{blobDir, WorkDir} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, fault.New(dir, err, "choose a folder that you may write to with --dir")
		}
	}
	lock, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	f := &Folder{dir: dir, lock: lock}
	f.bill, err = readBill(dir)
	if errors.Is(err, fs.ErrNotExist) {
		f.bill, err = NewBill(platform), nil
	}
	if err == nil && f.bill.Platform != platform {
		err = fault.Usage(dir, fmt.Errorf("the bundle is for %s, not %s", f.bill.Platform, platform), "use another folder with --dir")
	}
	if err == nil {
		err = os.RemoveAll(f.work("tmp"))
	}
	if err == nil {
		err = os.MkdirAll(f.work("tmp"), 0o755)
	}
	if err != nil {
		_ = lock.Release()
		return nil, err
	}
	return f, nil
}

func lockFolder(dir string) (*process.Lock, error) {
	lock, err := process.Hold(filepath.Join(dir, WorkDir, "lock"))
	var held *process.Held
	if errors.As(err, &held) {
		return nil, fault.New(dir, fmt.Errorf("the bundle is being written by %w", held), "wait for it to end")
	}
	return lock, err
}

// Close gives up the lock of a folder opened for writing.
func (f *Folder) Close() error {
	if f.lock == nil {
		return nil
	}
	return f.lock.Release()
}

// Dir is the bundle's folder; absolute when it was opened for writing.
func (f *Folder) Dir() string { return f.dir }

func (f *Folder) work(parts ...string) string {
	return filepath.Join(append([]string{f.dir, WorkDir}, parts...)...)
}

// Bill returns a copy of the bill of materials.
func (f *Folder) Bill() *Bill {
	f.mu.Lock()
	defer f.mu.Unlock()
	bill := *f.bill
	bill.Items = append([]Item(nil), f.bill.Items...)
	bill.Missing = append([]Missing(nil), f.bill.Missing...)
	return &bill
}

// Blob is the path of the blob with that hex digest.
func (f *Folder) Blob(sha string) string { return filepath.Join(f.dir, blobDir, sha) }

// Has reports whether a blob is there with that size. It does not read it;
// Verify does.
func (f *Folder) Has(d Digest) bool {
	info, err := os.Stat(f.Blob(d.SHA256))
	return err == nil && info.Size() == d.Size
}

// TempFile creates a file in the folder that Adopt can move into place. It is
// removed by the next Create if it is left behind.
func (f *Folder) TempFile() (*os.File, error) { return os.CreateTemp(f.work("tmp"), "blob-*") }

// Put stores what r yields as a blob. The blob appears whole or not at all.
func (f *Folder) Put(ctx context.Context, r io.Reader) (Digest, error) {
	return f.PutExpected(ctx, r, "")
}

// place syncs a temporary file and renames it to the blob of its digest.
func (f *Folder) place(tmp *os.File, d Digest) error {
	if err := tmp.Sync(); err != nil {
		return full(f.dir, err)
	}
	if err := tmp.Chmod(0o644); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), f.Blob(d.SHA256))
}

// PutFile stores a file of the same file system as a blob without copying when
// it can: it is hashed and linked. The file must not change afterwards.
func (f *Folder) PutFile(ctx context.Context, path string) (Digest, error) {
	file, err := os.Open(path)
	if err != nil {
		return Digest{}, err
	}
	defer file.Close()
	hash := sha256.New()
	size, err := io.Copy(hash, contextReader{ctx, file})
	if err != nil {
		return Digest{}, err
	}
	d := Digest{hex.EncodeToString(hash.Sum(nil)), size}
	if f.Has(d) {
		return d, nil
	}
	_ = os.Remove(f.Blob(d.SHA256)) // one of the wrong size
	if os.Link(path, f.Blob(d.SHA256)) == nil {
		return d, nil
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return Digest{}, err
	}
	return f.Put(ctx, file)
}

// Record enters an item whose blobs are stored into the bill, with its link
// and its place in the image index.
func (f *Folder) Record(item Item) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.name(item); err != nil {
		return err
	}
	f.bill.Set(item)
	return f.save()
}

// SetMissing records which items the bundle cannot have, and why.
func (f *Folder) SetMissing(missing []Missing) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bill.Missing = missing
	return f.save()
}

// link makes the item's name in the folder a relative link to its blob, so
// that the folder can be moved.
func (f *Folder) link(item Item) error {
	path := filepath.Join(f.dir, item.Path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return full(f.dir, err)
	}
	target, err := filepath.Rel(filepath.Dir(path), f.Blob(item.SHA256))
	if err != nil {
		return err
	}
	if old, err := os.Readlink(path); err == nil && old == target {
		return nil
	}
	tmp := f.work("tmp", "link-"+item.SHA256) // a name could lead out of the folder
	_ = os.Remove(tmp)
	if err := os.Symlink(target, tmp); err != nil {
		return full(f.dir, err)
	}
	return os.Rename(tmp, path)
}

func (f *Folder) save() error {
	text, err := yaml.Marshal(f.bill)
	if err != nil {
		return err
	}
	if err := f.writeIndex(); err != nil {
		return fmt.Errorf("writing image index: %w", err)
	}
	if f.written(text) {
		return nil
	}
	// The signature goes first: it must never stand beside a bill that nobody signed.
	if err := f.dropSignature(); err != nil {
		return err
	}
	return f.writeFile(BillFile, text)
}

// written reports whether the bill in the folder says the same as a text, which may have been
// written otherwise: a signature is of its bytes.
func (f *Folder) written(text []byte) bool {
	there, err := readBill(f.dir)
	if err != nil {
		return false
	}
	same, err := yaml.Marshal(there)
	return err == nil && bytes.Equal(same, text)
}

// writeFile replaces a file of the folder as a whole.
func (f *Folder) writeFile(name string, text []byte) error {
	tmp, err := f.TempFile()
	if err != nil {
		return full(f.dir, err)
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	if _, err := tmp.Write(text); err != nil {
		return full(f.dir, err)
	}
	if err := tmp.Sync(); err != nil {
		return full(f.dir, err)
	}
	if err := tmp.Chmod(0o644); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), filepath.Join(f.dir, name))
}

// full turns a full disk into an error that says what to do.
func full(dir string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fault.New(dir, err, "free space there, or choose another folder with --dir; completed items are kept")
	}
	return err
}

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(p)
}
