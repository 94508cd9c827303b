package artifact

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

// loader reads one archive into a folder.
type loader struct {
	folder *bundle.Folder
	trust  Trust
	object string
	bill   *bundle.Bill
	// text and signature are the bill's.
	text, signature []byte
	// wanted are sizes of blobs by digest; -1 is an image's manifest, whose size
	// the bill does not tell. images are the items of those.
	wanted map[string]int64
	images map[string]bundle.Item
	// stored are blobs that this archive brought.
	stored map[string]bool
	done   int64
	step   *event.Step
}

// Load makes a folder that is open for writing the bundle of an archive. The
// signature comes first: before it is checked, nothing is stored. Blobs that are
// stored already are not written again, so a load that was interrupted costs
// little the second time. The size of the archive is for progress, 0 if unknown.
func Load(ctx context.Context, folder *bundle.Folder, object string, r io.Reader, size int64, trust Trust, sink event.Sink) (*bundle.Bill, error) {
	l := &loader{folder: folder, trust: trust, object: object, wanted: map[string]int64{}, images: map[string]bundle.Item{}, stored: map[string]bool{}}
	l.step = event.Start(sink, "archive", "reading")
	err := l.read(ctx, tar.NewReader(r), size)
	l.step.End("verified and stored", err)
	return l.bill, err
}

func (l *loader) read(ctx context.Context, archive *tar.Reader, size int64) error {
	if err := l.begin(archive); err != nil {
		return l.explain(ctx, err)
	}
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = l.entry(ctx, header, archive)
		}
		if err != nil {
			return l.explain(ctx, err)
		}
		l.done += header.Size
		l.step.Count(l.done, size, "bytes")
	}
	if err := l.complete(); err != nil {
		return l.explain(ctx, err)
	}
	return l.folder.Become(l.text, l.signature)
}

// begin reads bill and signature.
func (l *loader) begin(archive *tar.Reader) (err error) {
	header, err := archive.Next()
	if err != nil || header.Name != bundle.BillFile {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		return fault.Usage(l.object, errors.New("this is no archive of a bundle"), "give a file that slipway bundle save wrote, unpacked if it was packed")
	}
	if l.text, err = readEntry(archive, header, MaxBill); err != nil {
		return err
	}
	if header, err = archive.Next(); err != nil {
		return err
	}
	if header.Name == bundle.SignatureFile {
		if l.signature, err = readEntry(archive, header, MaxSignature); err != nil {
			return err
		}
	}
	if err := l.trust.Check(l.object, l.text, l.signature); err != nil {
		return err
	}
	l.bill, err = bundle.ParseBill(l.object, l.text)
	if err != nil {
		return err
	}
	if err := CheckPlatform(l.object, l.bill, l.folder.Bill().Platform); err != nil {
		return err
	}
	for _, item := range l.bill.Items {
		l.wanted[item.SHA256] = item.Size
		if item.Kind == bundle.Image {
			l.wanted[item.SHA256], l.images[item.SHA256] = -1, item
		}
	}
	return nil
}

// CheckPlatform refuses a bundle for machines of another architecture.
func CheckPlatform(object string, bill *bundle.Bill, platform string) error {
	if bill.Platform == platform {
		return nil
	}
	return fault.Usage(object, fmt.Errorf("the bundle is for %s, not %s", bill.Platform, platform), "get the bundle for "+platform+", or name the other platform with --platform")
}

func readEntry(archive io.Reader, header *tar.Header, limit int64) ([]byte, error) {
	if header.Size > limit {
		return nil, fmt.Errorf("%s has %d bytes, but at most %d are allowed", header.Name, header.Size, limit)
	}
	return io.ReadAll(archive)
}

// entry stores one blob that the bill asks for, and refuses all others.
func (l *loader) entry(ctx context.Context, header *tar.Header, content io.Reader) error {
	if slices.Contains(layoutFiles(), header.Name) {
		return nil // the folder writes its own
	}
	sha, isBlob := strings.CutPrefix(header.Name, blobDir)
	size, wanted := l.wanted[sha]
	switch {
	case !isBlob || !wanted || header.Typeflag != tar.TypeReg:
		return fmt.Errorf("%q is in no item of the bill", header.Name)
	case size < 0 && header.Size > MaxManifest, size >= 0 && header.Size != size:
		return fmt.Errorf("%s has %d bytes, not the bill's", header.Name, header.Size)
	}
	if err := l.store(ctx, sha, header.Size, content); err != nil {
		return err
	}
	l.stored[sha] = true
	if item, isImage := l.images[sha]; isImage {
		blobs, err := l.folder.Blobs(item)
		if err != nil {
			return err
		}
		for _, blob := range blobs[1:] {
			l.wanted[blob.SHA256] = blob.Size
		}
	}
	return nil
}

// store keeps a blob, unless it is there whole.
func (l *loader) store(ctx context.Context, sha string, size int64, content io.Reader) error {
	whole, err := l.folder.Whole(ctx, bundle.Digest{SHA256: sha, Size: size})
	if err != nil || whole {
		return err
	}
	got, err := l.folder.PutExpected(ctx, content, sha)
	if err == nil && got.SHA256 != sha {
		err = fmt.Errorf("blob %s has changed: its content is sha256:%s", sha, got.SHA256)
	}
	return err
}

// complete reports what the archive lacks.
func (l *loader) complete() error {
	missing := 0
	for sha := range l.wanted {
		if !l.stored[sha] {
			missing++
		}
	}
	if missing > 0 {
		return fmt.Errorf("%d of %d blobs are missing: %w", missing, len(l.wanted), io.ErrUnexpectedEOF)
	}
	return nil
}

func (l *loader) explain(ctx context.Context, err error) error {
	var told *fault.Fault
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &told):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fault.New(l.object, fmt.Errorf("the archive ends too early: %w", err), "copy it again, and compare its size and digest with the original's; what was loaded is kept")
	}
	return fault.New(l.object, err, "copy the archive again; if it stays the same, do not use it and ask its publisher")
}
