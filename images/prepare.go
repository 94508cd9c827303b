package images

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/slipway-sh/slipway/images/disk"
	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/images/source"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

// content is the bytes of an image on their way from source to Glance.
type content struct {
	// Sealed ends well only if everything about the bytes is right.
	*disk.Sealed
	// sums are of the bytes that Glance gets.
	sums *disk.Sums
	// virtual is the size of the disk in bytes, -1 until the end of raw bytes
	// of unknown length.
	virtual int64

	image  manifest.Image
	packed bool
	// digest is of what was published, by sha512, once the stream is complete.
	digest  string
	closers []func() error
}

func (c *content) Close() error {
	var errs []error
	for n := len(c.closers) - 1; n >= 0; n-- {
		errs = append(errs, c.closers[n]())
	}
	return errors.Join(errs...)
}

// prepare opens the source of an image and looks at its head: what is no image
// or would be dangerous is refused before anything is made in Glance.
func (s *Syncer) prepare(ctx context.Context, i manifest.Image, step *event.Step) (_ *content, err error) {
	c := &content{image: i, virtual: -1}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	stream, err := s.open(ctx, i, step)
	if err != nil {
		return nil, err
	}
	c.image = i
	c.closers = append(c.closers, stream.Close)
	signature, err := s.signature(ctx, &c.image)
	if err != nil {
		return nil, err
	}
	published := disk.NewSums("sha256", "sha512")
	if i.SHA256 == "" {
		published = disk.NewSums("sha512")
	}
	counted := &meter{r: stream, total: stream.Size, step: step}
	raw := bufio.NewReaderSize(io.TeeReader(counted, io.MultiWriter(published, signature)), disk.HeadSize)
	verify := func() error {
		if _, err := io.Copy(io.Discard, raw); err != nil { // what follows a compressed stream is signed too
			return err
		}
		c.digest = published.Hex("sha512")
		return errors.Join(compareDigest(c.image, published, stream.Size), signature.check())
	}
	unpacked, err := c.unpack(raw)
	if err != nil {
		return nil, err
	}
	if err := s.inspect(c, unpacked, stream.Size); err != nil {
		return nil, err
	}
	if i.Convert == manifest.FormatRaw {
		if stream.File != nil && !c.packed && i.Digest() == "" && i.Signature == nil {
			counted.step = nil // what is converted is counted
			return c, s.convert(ctx, c, stream.File, beside(verify), step)
		}
		file, err := s.verified(c, stream, unpacked, verify, step)
		if err != nil {
			return nil, err
		}
		return c, s.convert(ctx, c, file, func() error { return nil }, step)
	}
	bytes := io.Reader(unpacked)
	c.sums = published
	if c.packed {
		c.sums = disk.NewSums("sha512")
		bytes = io.TeeReader(disk.Bound(bytes, s.limit(c)), c.sums)
	}
	c.seal(ctx, bytes, verify)
	return c, nil
}

// seal ends the chain: reading ahead, and nothing whole without the check.
func (c *content) seal(ctx context.Context, r io.Reader, check func() error) {
	ahead := disk.Ahead(ctx, r)
	c.closers = append(c.closers, ahead.Close)
	c.Sealed = disk.Seal(ahead, check)
}

func (s *Syncer) open(ctx context.Context, i manifest.Image, step *event.Step) (*source.Stream, error) {
	opener := s.Source
	opener.Waiting = step.Wait
	switch {
	case i.URL != "":
		return opener.Open(ctx, i.URL)
	case i.File != "":
		return opener.OpenFile(string(i.File))
	}
	return opener.OpenBundle(i.Bundle)
}

// unpack decompresses what is compressed.
func (c *content) unpack(raw *bufio.Reader) (*bufio.Reader, error) {
	head, err := raw.Peek(512)
	if err != nil && err != io.EOF {
		return nil, err
	}
	kind := disk.Recognise(head)
	if !kind.Compressed() {
		return raw, nil
	}
	unpacked, err := disk.Decompress(raw, kind)
	if err != nil {
		return nil, c.fault(err, "check that the file is complete")
	}
	c.packed = true
	c.closers = append(c.closers, unpacked.Close)
	return bufio.NewReaderSize(unpacked, disk.HeadSize), nil
}

// inspect checks that the bytes are what the manifest says, by their head.
func (s *Syncer) inspect(c *content, r *bufio.Reader, published int64) error {
	head, err := r.Peek(disk.HeadSize)
	if err != nil && err != io.EOF {
		return c.fault(fmt.Errorf("reading its beginning: %w", err), "check that the file is complete")
	}
	kind := disk.Recognise(head)
	switch {
	case kind == disk.Qcow2 && c.image.Format == manifest.FormatQcow2:
		if c.virtual, err = disk.CheckQcow2(head); err != nil {
			return c.fault(err, "flatten it with qemu-img convert -O qcow2, or get it from a trusted source")
		}
	case kind == disk.Unknown && c.image.Format == manifest.FormatRaw:
		if !c.packed && published >= 0 {
			c.virtual = published
		}
	case kind == disk.Unknown:
		return c.fault(fmt.Errorf("it is not %s: its header has no known format", c.image.Format), "if it is a raw disk, set format: raw in the manifest; else correct its source")
	default:
		return c.fault(fmt.Errorf("it is not %s but %s", c.image.Format, kind), "correct its source, or the format in the manifest")
	}
	if limit := s.maxDisk(c.image); c.virtual > limit {
		return c.fault(fmt.Errorf("%w: its disk has %d bytes, but at most %d are allowed", disk.ErrTooLarge, c.virtual, limit), "raise minDisk of the image, or spec.maxDisk")
	}
	return nil
}

// maxDisk is the largest disk that an image may have, in bytes.
func (s *Syncer) maxDisk(i manifest.Image) int64 {
	if i.MinDisk > 0 {
		return int64(i.MinDisk) << 30
	}
	return int64(s.maxDiskGiB) << 30
}

// limit is how many bytes an image may unpack to: its disk, and for qcow2 the
// tables besides.
func (s *Syncer) limit(c *content) int64 {
	if c.virtual < 0 {
		return s.maxDisk(c.image)
	}
	return c.virtual + c.virtual/16 + 64<<20
}

// verified is a qcow2 image as a file: conversion takes reading here and there.
// A file is read in place, after its digest; all else goes through a temporary
// file.
func (s *Syncer) verified(c *content, stream *source.Stream, unpacked io.Reader, verify func() error, step *event.Step) (*os.File, error) {
	file := stream.File
	if file == nil || c.packed {
		var err error
		if file, err = disk.Spool(disk.Bound(unpacked, s.limit(c)), s.TempDir); err != nil {
			return nil, c.fault(err, spoolRemedy(err))
		}
		c.closers = append(c.closers, file.Close)
	}
	step.Run("verifying")
	if err := verify(); err != nil {
		return nil, c.fault(err, digestRemedy)
	}
	return file, nil
}

// beside runs a check at once, beside whatever else is done, and returns how to
// wait for its end. A file that nobody gave a digest for is only read for its
// own.
func beside(check func() error) func() error {
	ended := make(chan error, 1)
	go func() { ended <- check() }()
	return func() error { return <-ended }
}

// convert makes the content the raw disk in a qcow2 image.
func (s *Syncer) convert(ctx context.Context, c *content, file *os.File, check func() error, step *event.Step) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	disks, err := disk.RawReader(ctx, io.NewSectionReader(file, 0, info.Size()))
	if err != nil {
		return c.fault(err, "leave out convert, or convert it with qemu-img")
	}
	c.closers = append(c.closers, disks.Close)
	c.sums = disk.NewSums("sha512")
	c.seal(ctx, io.TeeReader(&meter{r: disks, total: c.virtual, step: step}, c.sums), check)
	return nil
}

func spoolRemedy(err error) string {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return "free space there, or name another folder with --temp-dir; only conversion needs the space"
	}
	return "check that the file is complete, then run the same command again"
}

// compareDigest compares the received bytes with the digest in the manifest.
func compareDigest(i manifest.Image, sums *disk.Sums, size int64) error {
	if size >= 0 && sums.Size() != size {
		return fmt.Errorf("%d bytes were received, but the source has %d", sums.Size(), size)
	}
	for algorithm, want := range map[string]string{"sha256": i.SHA256, "sha512": i.SHA512} {
		if got := sums.Hex(algorithm); want != "" && !strings.EqualFold(got, want) {
			return fmt.Errorf("%w: received %s %s, but the manifest has %s", errDigest, algorithm, abbreviated(got), abbreviated(strings.ToLower(want)))
		}
	}
	return nil
}

var errDigest = errors.New("the content differs from the manifest")

const digestRemedy = "check the URL and whether the publisher replaced the build; never copy a digest from the server of the image itself"

// fault is the fault of an image that cannot be taken.
func (c *content) fault(err error, remedy string) error {
	var known *fault.Fault
	if errors.As(err, &known) || errors.Is(err, context.Canceled) {
		return err
	}
	return fault.New("image "+c.image.Name+" from "+redacted(c.image.Source()), err, remedy)
}

func redacted(address string) string {
	text, _, _ := strings.Cut(address, "?")
	return text
}
