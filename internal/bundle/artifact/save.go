package artifact

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/event"
)

// blobDir is where blobs are in an archive, as in an OCI layout.
const blobDir = "blobs/sha256/"

// layoutFiles make the archive one that tools for OCI layouts read.
func layoutFiles() []string { return []string{"oci-layout", "index.json"} }

// Save writes the bundle of a folder as one archive: a tar of an OCI layout that
// begins with the bill and its signature. Equal bundles give equal bytes.
func Save(ctx context.Context, folder *bundle.Folder, w io.Writer, sink event.Sink) (err error) {
	bill, signature, err := folder.BillText()
	if err != nil {
		return err
	}
	blobs, err := Blobs(folder, folder.Bill())
	if err != nil {
		return err
	}
	total := int64(0)
	for _, blob := range blobs {
		total += blob.Size
	}
	step := event.Start(sink, "archive", "writing")
	defer func() { step.End("written", err) }()
	tw := tar.NewWriter(w)
	if err := writeEntry(tw, bundle.BillFile, bill); err != nil {
		return err
	}
	if signature != nil {
		if err := writeEntry(tw, bundle.SignatureFile, signature); err != nil {
			return err
		}
	}
	for _, name := range layoutFiles() {
		text, err := os.ReadFile(filepath.Join(folder.Dir(), name))
		if err == nil {
			err = writeEntry(tw, name, text)
		}
		if err != nil {
			return err
		}
	}
	done := int64(0)
	for _, blob := range blobs {
		if err := saveBlob(ctx, tw, folder, blob); err != nil {
			return err
		}
		done += blob.Size
		step.Count(done, total, "bytes")
	}
	return tw.Close()
}

func writeEntry(tw *tar.Writer, name string, content []byte) error {
	err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Format: tar.FormatPAX})
	if err != nil {
		return err
	}
	_, err = tw.Write(content)
	return err
}

func saveBlob(ctx context.Context, tw *tar.Writer, folder *bundle.Folder, blob bundle.Digest) error {
	file, err := os.Open(folder.Blob(blob.SHA256))
	if err != nil {
		return err
	}
	defer file.Close()
	if err := tw.WriteHeader(&tar.Header{Name: blobDir + blob.SHA256, Mode: 0o644, Size: blob.Size, Format: tar.FormatPAX}); err != nil {
		return err
	}
	n, err := io.Copy(tw, cancellable{ctx, file})
	if errors.Is(err, tar.ErrWriteTooLong) || err == nil && n != blob.Size {
		err = fmt.Errorf("blob %s has another size than the bill says", blob.SHA256)
	}
	return err
}

// cancellable reads until the context ends.
type cancellable struct {
	ctx context.Context
	io.Reader
}

func (c cancellable) Read(b []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.Reader.Read(b)
}
