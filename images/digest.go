package images

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-sh/slipway/images/disk"
	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/event"
)

// withDigests returns the manifest with a digest for every image, because
// images are known by them: a bundle's bill and a signed list have one, a file
// is read for it, unless no image that matters can have its bytes: it is read
// when it is sent then. The bill describes the image too. Images that cannot be
// read are left out, and the error says why.
func (s *Syncer) withDigests(ctx context.Context, m *manifest.Manifest, matters func(extent) bool) (*manifest.Manifest, error) {
	list, errs := slices.Clone(m.Spec.Images), make([]error, len(m.Spec.Images))
	var group errgroup.Group
	group.SetLimit(2)
	for n := range list {
		if i := &list[n]; i.Digest() == "" || i.Bundle != "" {
			group.Go(func() error {
				errs[n] = s.digest(ctx, i, matters)
				return nil
			})
		}
	}
	_ = group.Wait() // each has its own error
	out, told := *m, map[string]bool{}
	out.Spec.Images = nil
	for n, i := range list {
		switch err := errs[n]; {
		case err == nil:
			out.Spec.Images = append(out.Spec.Images, i)
		case told[err.Error()]: // two images of a bundle that is not there
			errs[n] = nil
		default:
			told[err.Error()] = true
		}
	}
	return &out, errors.Join(errs...)
}

func (s *Syncer) digest(ctx context.Context, i *manifest.Image, matters func(extent) bool) error {
	switch {
	case i.Signature != nil && i.Signature.Checksums != "":
		_, err := s.signature(ctx, i)
		return err
	case i.Bundle != "":
		stream, err := s.Source.OpenBundle(i.Bundle)
		if err != nil {
			return err
		}
		i.SHA256 = cmp.Or(i.SHA256, stream.SHA256)
		DescribeFromBill(i, stream.Properties)
		return stream.Close()
	}
	return s.read(ctx, i, matters)
}

// read reads a file for its digest, if it matters.
func (s *Syncer) read(ctx context.Context, i *manifest.Image, matters func(extent) bool) error {
	step := event.Start(s.Events, "image "+i.Name, "computing its digest")
	stream, err := s.open(ctx, *i, step)
	if err != nil {
		step.End("", err)
		return err
	}
	defer stream.Close()
	raw := bufio.NewReaderSize(&interruptible{ctx, &meter{r: stream, total: stream.Size, step: step}}, disk.HeadSize)
	if head, err := raw.Peek(disk.HeadSize); (err == nil || err == io.EOF) && !matters(extentOf(*i, head, stream.Size)) {
		step.Skip("no image in Glance can have its content")
		return nil
	}
	sums := disk.NewSums("sha512")
	if _, err = raw.WriteTo(sums); err == nil {
		i.SHA512 = sums.Hex("sha512")
	}
	step.End("digest known", err)
	return err
}

// extent is what is known of an image's bytes in Glance without reading them.
type extent struct {
	name, format string
	// size is -1 when only unpacking tells.
	size int64
}

// extentOf looks at the beginning of what an image is published as.
func extentOf(i manifest.Image, head []byte, published int64) extent {
	b := extent{i.Name, i.DiskFormat(), published}
	switch kind := disk.Recognise(head); {
	case kind.Compressed():
		b.size = -1
	case i.Convert != "" && kind == disk.Qcow2:
		if size, err := disk.CheckQcow2(head); err == nil { // else the upload refuses it
			b.size = size
		}
	}
	return b
}

// oneOf says whether bytes can be those of an image of a list, or have to be
// told from those that have the name.
func oneOf(list []Record) func(extent) bool {
	return func(b extent) bool {
		return slices.ContainsFunc(list, func(r Record) bool {
			return r.Name == b.name || r.DiskFormat == b.format && (b.size < 0 || r.Size == b.size)
		})
	}
}

// always is for those who must know every digest.
func always(extent) bool { return true }

// DescribeFromBill adds what a bundle's bill says and the manifest does not.
func DescribeFromBill(i *manifest.Image, bill map[string]string) {
	if i.KubernetesVersion == "" {
		i.KubernetesVersion = manifest.WithV(bill[manifest.PropertyKubeVersion])
	}
	said := i.GlanceProperties()
	properties := maps.Clone(i.Properties)
	if properties == nil {
		properties = map[string]string{}
	}
	for name, value := range bill {
		if _, there := said[name]; !there {
			properties[name] = value
		}
	}
	i.Properties = properties
}

// interruptible ends reading with its context.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (r *interruptible) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.r.Read(p)
}
