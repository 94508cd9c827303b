package bundle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/slipway-sh/slipway/internal/fault"
)

// SignatureFile is the signature of the bill in a bundle's folder, in the format
// of minisign. The bill has the digest of every item, so it vouches for every byte.
const SignatureFile = BillFile + ".minisig"

// BillText returns the bytes of the bill and of its signature, which is nil when
// the bundle is not signed.
func (f *Folder) BillText() (bill, signature []byte, err error) {
	if bill, err = os.ReadFile(filepath.Join(f.dir, BillFile)); err != nil {
		return nil, nil, err
	}
	signature, err = os.ReadFile(filepath.Join(f.dir, SignatureFile))
	if errors.Is(err, fs.ErrNotExist) {
		return bill, nil, nil
	}
	return bill, signature, err
}

// SetSignature keeps a signature of the bill as it is now. Any change of what the
// bill says removes it.
func (f *Folder) SetSignature(signature []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.writeFile(SignatureFile, signature)
}

// Blobs are the digests that an item stands for: its file, or the manifest,
// configuration and layers of an image.
func (f *Folder) Blobs(item Item) ([]Digest, error) { return f.blobs(item) }

// Become makes the folder the bundle of that bill, whose blobs are all stored,
// and keeps the bill as it is, byte for byte, with its signature. What only the
// bill before had is removed.
func (f *Folder) Become(text, signature []byte) error {
	bill, err := ParseBill(BillFile, text)
	if err != nil {
		return err
	}
	for _, item := range bill.Items {
		if !f.Complete(item) {
			return fault.New(item.Name, errors.New("not all of it is stored"), "run the same command again")
		}
	}
	if err := f.become(bill, text, signature); err != nil {
		return full(f.dir, err)
	}
	_, err = f.Clean()
	return err
}

func (f *Folder) become(bill *Bill, text, signature []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	old := f.bill
	f.bill = bill
	for _, item := range bill.Items {
		if err := f.name(item); err != nil {
			return err
		}
	}
	for _, item := range old.Items {
		same := func(other Item) bool { return other.Path == item.Path }
		if item.Path != "" && !slices.ContainsFunc(bill.Items, same) {
			_ = os.Remove(filepath.Join(f.dir, item.Path))
		}
	}
	if err := errors.Join(f.writeIndex(), f.dropSignature(), f.writeFile(BillFile, text)); err != nil || signature == nil {
		return err
	}
	return f.writeFile(SignatureFile, signature)
}

// name makes an item's file executable where it is a program, and gives it its
// name in the folder.
func (f *Folder) name(item Item) error {
	if item.Kind == Binary {
		if err := os.Chmod(f.Blob(item.SHA256), 0o755); err != nil {
			return err
		}
	}
	if item.Path == "" {
		return nil
	}
	return f.link(item)
}

func (f *Folder) dropSignature() error {
	err := os.Remove(filepath.Join(f.dir, SignatureFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Whole reads a blob and reports whether it is there with its size and content.
// One that is damaged is removed, so that it can be stored again.
func (f *Folder) Whole(ctx context.Context, d Digest) (bool, error) {
	if _, err := os.Stat(f.Blob(d.SHA256)); err != nil {
		return false, nil
	}
	if f.verifyBlob(ctx, d.SHA256, d.Size) == "" {
		return true, nil
	}
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	return false, os.Remove(f.Blob(d.SHA256))
}

// PutExpected stores what r yields if it has that digest, and nothing if it has
// another, which is returned. With "" any is expected.
func (f *Folder) PutExpected(ctx context.Context, r io.Reader, sha string) (Digest, error) {
	tmp, err := f.TempFile()
	if err != nil {
		return Digest{}, full(f.dir, err)
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	hash := sha256.New()
	size, err := io.Copy(io.MultiWriter(tmp, hash), contextReader{ctx, r})
	if err != nil {
		return Digest{}, full(f.dir, err)
	}
	d := Digest{hex.EncodeToString(hash.Sum(nil)), size}
	if sha != "" && d.SHA256 != sha {
		return d, nil
	}
	return d, f.place(tmp, d)
}
