package blockdev

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/lima-vm/go-qcow2reader"
	"github.com/lima-vm/go-qcow2reader/convert"
	"github.com/lima-vm/go-qcow2reader/image"
	"github.com/lima-vm/go-qcow2reader/image/qcow2"
	"github.com/lima-vm/go-qcow2reader/image/raw"
	"golang.org/x/sys/unix"
)

// IsRaw reports whether an image file has the bytes of a disk as they are.
func IsRaw(path string) (bool, error) {
	f, img, err := openImage(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	return img.Type() == raw.Type, img.Close()
}

// Unpack writes the disk of an image file, raw or qcow2, to a new sparse file. An error leaves no
// file. The context is checked before each write.
func Unpack(ctx context.Context, path, to string) (err error) {
	f, img, err := openImage(path)
	if err != nil {
		return err
	}
	defer f.Close()
	defer img.Close()
	if img.Type() == raw.Type {
		return Copy(ctx, path, to)
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("unpacking %s: %w", path, err)
	}
	defer func() { err = finish(out, err) }()
	if err := out.Truncate(img.Size()); err != nil {
		return fmt.Errorf("unpacking %s: %w", path, err)
	}
	if err := convert.Convert(stopper{ctx, out}, img, convert.Options{}); err != nil {
		return fmt.Errorf("unpacking %s: %w", path, err)
	}
	return nil
}

func openImage(path string) (*os.File, image.Image, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("opening image: %w", err)
	}
	img, err := qcow2reader.Open(f)
	if err == nil {
		err = readable(img)
	}
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("opening image %s: %w", path, err)
	}
	return f, img, nil
}

// readable refuses images that a machine must not use: a backing file would be read from anywhere
// on the host (as in CVE-2015-5163).
func readable(img image.Image) error {
	if img.Type() != raw.Type && img.Type() != qcow2.Type {
		return fmt.Errorf("format %s is not accepted: use raw or qcow2", img.Type())
	}
	if q, ok := img.(*qcow2.Qcow2); ok && q.BackingFile != "" {
		return errors.New("an image with a backing file is not accepted: flatten it with qemu-img convert")
	}
	return img.Readable()
}

// stopper is a file that refuses writes once the context has ended.
type stopper struct {
	ctx context.Context
	f   *os.File
}

func (s stopper) WriteAt(p []byte, off int64) (int, error) {
	if err := context.Cause(s.ctx); err != nil {
		return 0, err
	}
	return s.f.WriteAt(p, off)
}

func finish(out *os.File, err error) error {
	if err = errors.Join(err, out.Close()); err != nil {
		os.Remove(out.Name())
	}
	return err
}

// Copy copies a file to a new one. The two share their bytes if the file system supports that;
// otherwise the copy keeps the holes. An error leaves no file.
func Copy(ctx context.Context, from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("copying: %w", err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("copying %s: %w", from, err)
	}
	defer func() { err = finish(out, err) }()
	if unix.IoctlFileClone(int(out.Fd()), int(in.Fd())) == nil {
		return nil
	}
	st, err := in.Stat()
	if err != nil {
		return fmt.Errorf("copying %s: %w", from, err)
	}
	if err := out.Truncate(st.Size()); err != nil {
		return fmt.Errorf("copying %s: %w", from, err)
	}
	if err := copyData(ctx, in, out); err != nil {
		return fmt.Errorf("copying %s: %w", from, err)
	}
	return nil
}

// copyData copies the data between the holes.
func copyData(ctx context.Context, in, out *os.File) error {
	var end int64
	for {
		start, err := unix.Seek(int(in.Fd()), end, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) { // no data after end
			return nil
		}
		if err != nil {
			return err
		}
		if end, err = unix.Seek(int(in.Fd()), start, unix.SEEK_HOLE); err != nil {
			return err
		}
		to := io.NewOffsetWriter(stopper{ctx, out}, start)
		if _, err := io.Copy(to, io.NewSectionReader(in, start, end-start)); err != nil {
			return err
		}
	}
}
