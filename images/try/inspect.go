package try

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/lima-vm/go-qcow2reader"

	"github.com/slipway-sh/slipway/images/disk"
	"github.com/slipway-sh/slipway/internal/bootdisk"
	"github.com/slipway-sh/slipway/internal/fault"
)

// image is what is known of the file before it boots.
type image struct {
	path, format string
	// size is that of the disk, in bytes.
	size int64
	// loaders are what firmware finds on the disk.
	loaders bootdisk.Loaders
}

// growth is how much larger than the image the machine's disk is: a quarter and
// 4 GiB, so that a root that grew is larger than the whole image, whatever its
// file system takes for itself.
const growth = 4 << 30

// bootSize is the size of the machine's disk in bytes.
func (i image) bootSize() int64 { return (i.size+i.size/4+growth)>>20<<20 + 1<<20 }

// inspect looks at a file. QEMU would follow the names in a qcow2 image that is
// not self-contained, so that such a one is refused.
func inspect(path string) (image, error) {
	i := image{path: path}
	refuse := func(remedy string, err error) (image, error) {
		return i, &fault.Fault{Exit: fault.ExitPreflight, Object: "image " + path, Remedy: remedy, Err: err}
	}
	const give = "give the path of a raw or qcow2 image"
	absolute, err := filepath.Abs(path)
	if err != nil {
		return refuse(give, err)
	}
	i.path = absolute
	file, err := os.Open(absolute)
	if err != nil {
		return refuse(give, errors.Unwrap(err))
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return refuse(give, err)
	}
	if !info.Mode().IsRegular() {
		return refuse(give, errors.New("it is not a regular file"))
	}
	head := make([]byte, disk.HeadSize)
	n, err := file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return refuse(give, err)
	}
	switch kind := disk.Recognise(head[:n]); {
	case kind == disk.Qcow2:
		i.format = "qcow2"
		if i.size, err = disk.CheckQcow2(head[:n]); err != nil {
			return refuse("flatten it with qemu-img convert -O qcow2, or get it from a trusted source", err)
		}
	case kind == disk.Unknown:
		i.format, i.size = "raw", info.Size()
	case kind.Compressed():
		return refuse("unpack it first, for example with "+unpacker(kind), fmt.Errorf("it is compressed: %s", kind))
	default:
		return refuse(give, fmt.Errorf("it is not a disk image but %s", kind))
	}
	return i, i.readDisk(file)
}

func unpacker(kind disk.Kind) string {
	return map[disk.Kind]string{disk.Gzip: "gunzip -k", disk.Bzip2: "bunzip2 -k", disk.XZ: "xz -dk", disk.Zstd: "zstd -d"}[kind] + " FILE"
}

// readDisk looks at the partitions.
func (i *image) readDisk(file *os.File) error {
	content, err := qcow2reader.Open(file)
	if err == nil {
		err = content.Readable()
	}
	if err != nil {
		return &fault.Fault{Exit: fault.ExitPreflight, Object: "image " + i.path, Remedy: "check that the file is complete", Err: err}
	}
	defer content.Close()
	i.loaders = bootdisk.ReadLoaders(content, i.size)
	return nil
}

// noLoader says why firmware found nothing to boot, from what is on the disk.
func (i image) noLoader(firmware Firmware) (reason Reason, cause, fix string) {
	err := i.loaders.Why(firmware == UEFI)
	reason, fix = NoBootLoader, remedy(NoBootLoader)
	switch {
	case errors.Is(err, bootdisk.ErrOtherProcessor):
		reason, fix = WrongArchitecture, remedy(WrongArchitecture)
	case errors.Is(err, bootdisk.ErrNoTable):
	case i.loaders.Table != nil:
		fix = "check that the file is complete"
	case firmware == UEFI && !i.loaders.ESP:
		fix = "set the image property hw_firmware_type to bios, or use an image that boots by UEFI too"
	case firmware == BIOS && len(i.loaders.EFI) > 0:
		fix = "set the image property hw_firmware_type to uefi, or use an image that boots by BIOS too"
	}
	return reason, err.Error(), fix
}
