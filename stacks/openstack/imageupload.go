package openstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strconv"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	p "github.com/pulumi/pulumi-go-provider"

	"github.com/slipway-sh/slipway/images/disk"
	"github.com/slipway-sh/slipway/internal/fault"
)

// make uploads the file as a stream; a failed upload leaves nothing behind.
func (k imageKind) make(ctx context.Context, in ImageInputs) (string, error) {
	client, err := k.Image()
	if err != nil {
		return "", err
	}
	content, size, err := in.content(ctx)
	if err != nil {
		return "", err
	}
	defer content.Close()
	properties := maps.Clone(in.Properties)
	if properties == nil {
		properties = map[string]string{}
	}
	maps.Copy(properties, in.mark().Metadata())
	properties[HashProperty], properties[sizeProperty] = in.SHA256, strconv.FormatInt(size, 10)
	private := images.ImageVisibilityPrivate
	i, err := images.Create(ctx, client, images.CreateOpts{Name: in.mark().Name(), Tags: in.mark().Tags(), Visibility: &private,
		ContainerFormat: "bare", DiskFormat: in.Format, Properties: properties}).Extract()
	if err != nil {
		return "", err
	}
	said := teller(ctx, "uploading", size)
	if err := imagedata.Upload(ctx, client, i.ID, &metered{content, 0, said}).ExtractErr(); err != nil {
		err = fmt.Errorf("uploading: %w", err)
		if ctx.Err() == nil {
			err = errors.Join(err, skipGone(k.remove(ctx, i.ID, ImageState{})))
		}
		return "", err
	}
	return i.ID, nil
}

// content opens what is uploaded, and tells its size in bytes. A raw file that is wanted as
// qcow2 is packed into a temporary file without a name, which is gone when it is closed.
func (in ImageInputs) content(ctx context.Context) (*os.File, int64, error) {
	file, err := os.Open(in.Path)
	if err != nil {
		return nil, 0, fmt.Errorf("opening the image file: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, 0, fmt.Errorf("opening the image file: %w", err)
	}
	head := make([]byte, disk.HeadSize)
	n, err := file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		file.Close()
		return nil, 0, fmt.Errorf("reading the image file: %w", err)
	}
	if in.Format != string(disk.Qcow2) || disk.Recognise(head[:n]) == disk.Qcow2 {
		return file, info.Size(), nil
	}
	defer file.Close()
	packed, size, err := pack(ctx, file, info.Size())
	if err != nil {
		return nil, 0, fault.New("image file "+in.Path, fmt.Errorf("packing it as qcow2: %w", err), "free space in the temporary folder, set TMPDIR to another, or set spec.imageFormat to raw")
	}
	return packed, size, nil
}

func pack(ctx context.Context, file *os.File, size int64) (packed *os.File, packedSize int64, err error) {
	packed, err = os.CreateTemp("", "slipway-image-")
	if err != nil {
		return nil, 0, err
	}
	defer func() {
		if err != nil {
			packed.Close()
		}
	}()
	if err := os.Remove(packed.Name()); err != nil { // even if this process is killed nothing stays
		return nil, 0, err
	}
	if err := disk.WriteQcow2(ctx, packed, file, size, teller(ctx, "packing as qcow2", size)); err != nil {
		return nil, 0, err
	}
	packedSize, err = packed.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = packed.Seek(0, io.SeekStart)
	}
	return packed, packedSize, err
}

// metered tells how much was read. It can be read again from the start, as Gophercloud does
// after it has renewed a token.
type metered struct {
	io.ReadSeeker
	done int64
	tell func(done int64)
}

func (m *metered) Read(buf []byte) (int, error) {
	n, err := m.ReadSeeker.Read(buf)
	m.done += int64(n)
	m.tell(m.done)
	return n, err
}

func (m *metered) Seek(offset int64, whence int) (at int64, err error) {
	m.done, err = m.ReadSeeker.Seek(offset, whence)
	return m.done, err
}

// tellEvery is the interval between two words about a transfer.
const tellEvery = time.Second

// teller shows what is being done and how far it is.
func teller(ctx context.Context, doing string, size int64) func(done int64) {
	var told time.Time
	return func(done int64) {
		if now := time.Now(); size > 0 && now.Sub(told) >= tellEvery {
			told = now
			p.GetLogger(ctx).InfoStatus(fmt.Sprintf("%s: %d %% of %d MiB", doing, done*100/size, size>>20))
		}
	}
}
