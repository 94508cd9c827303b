package disk

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// maxWindow bounds the memory that a compressed stream may ask for, in bytes:
// what `xz -9` and `zstd --long=26` take.
const maxWindow = 64 << 20

// Decompress unpacks a stream of a compressed kind. The reader must be closed.
func Decompress(r io.Reader, kind Kind) (io.ReadCloser, error) {
	switch kind {
	case Gzip:
		return wrap(gzip.NewReader(r))
	case Bzip2:
		return io.NopCloser(bzip2.NewReader(r)), nil
	case XZ:
		buffered := bufio.NewReaderSize(r, 64<<10)
		if err := checkDictionary(buffered); err != nil {
			return nil, err
		}
		reader, err := xz.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("unpacking xz: %w", err)
		}
		return io.NopCloser(reader), nil
	case Zstd:
		reader, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, fmt.Errorf("unpacking zstd: %w", err)
		}
		return reader.IOReadCloser(), nil
	}
	return nil, fmt.Errorf("%s is not a supported compression", kind)
}

func wrap(r *gzip.Reader, err error) (io.ReadCloser, error) {
	if err != nil {
		return nil, fmt.Errorf("unpacking gzip: %w", err)
	}
	return r, nil
}

// checkDictionary refuses an xz stream that asks for a dictionary of up to 4
// GiB, which the library would allocate at once. Format: xz-file-format 1.2.1,
// sections 2.1.1, 3.1 and 5.3.1.
func checkDictionary(r *bufio.Reader) error {
	const streamHeader, lzma2 = 12, 0x21
	head, err := r.Peek(streamHeader + 2)
	if err != nil {
		return fmt.Errorf("unpacking xz: %w", io.ErrUnexpectedEOF)
	}
	size := (int(head[streamHeader]) + 1) * 4
	if head[streamHeader] == 0 {
		return nil // an index: the stream has no blocks
	}
	block, err := r.Peek(streamHeader + size)
	if err != nil {
		return fmt.Errorf("unpacking xz: %w", io.ErrUnexpectedEOF)
	}
	at := bytes.Index(block[streamHeader+2:], []byte{lzma2, 1})
	if at < 0 || streamHeader+2+at+2 >= len(block) {
		return errors.New("unpacking xz: the stream uses other filters than LZMA2")
	}
	bits := block[streamHeader+2+at+2]
	if dictionary := int64(2|bits&1) << (bits/2 + 11); bits > 40 || dictionary > maxWindow {
		return fmt.Errorf("unpacking xz: the stream needs more than %d MiB of memory", maxWindow>>20)
	}
	return nil
}
