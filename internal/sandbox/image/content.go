package image

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// content is what was found out about an image while it was written.
type content struct {
	size        int64
	md5, sha512 string
	head        []byte
}

// headSize covers the fields of a qcow2 header that are read.
const headSize = 32

// receive writes a stream to a new file and hashes it at the same time. Blocks of zeros become
// holes, because images of disks are mostly empty.
func receive(ctx context.Context, path string, body io.Reader) (content, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return content{}, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return content{}, err
	}
	found, err := copyHashed(ctx, file, body)
	if err == nil {
		err = file.Truncate(found.size)
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	return found, err
}

func copyHashed(ctx context.Context, file io.WriterAt, body io.Reader) (content, error) {
	var found content
	sums := []interface {
		io.Writer
		Sum([]byte) []byte
	}{md5.New(), sha512.New()}
	block, zeros := make([]byte, 256<<10), make([]byte, 256<<10)
	for {
		if err := ctx.Err(); err != nil {
			return found, fmt.Errorf("reading image: %w", err)
		}
		n, err := io.ReadFull(body, block)
		piece := block[:n]
		for _, sum := range sums {
			_, _ = sum.Write(piece) // hashes never fail
		}
		if found.size == 0 {
			found.head = bytes.Clone(piece[:min(n, headSize)])
		}
		if !bytes.Equal(piece, zeros[:n]) {
			if _, err := file.WriteAt(piece, found.size); err != nil {
				return found, err
			}
		}
		found.size += int64(n)
		switch err {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF:
			if err == io.ErrUnexpectedEOF { // a short block, or a client that broke off: the body tells
				if _, again := body.Read(make([]byte, 1)); again != io.EOF {
					return found, fmt.Errorf("reading image: %w", err)
				}
			}
			found.md5, found.sha512 = hex.EncodeToString(sums[0].Sum(nil)), hex.EncodeToString(sums[1].Sum(nil))
			return found, nil
		default:
			return found, fmt.Errorf("reading image: %w", err)
		}
	}
}

// virtual returns the size of the disk in a file of the format, in bytes; nil when the format does
// not tell.
func (c content) virtual(format string) *int64 {
	switch format {
	case "raw", "iso", "ami", "ari", "aki":
		return &c.size
	case "qcow2": // magic "QFI\xfb", version, then offset and size of the backing file's name, cluster bits, size
		if len(c.head) < headSize || !bytes.HasPrefix(c.head, []byte("QFI\xfb")) {
			return nil
		}
		size := int64(binary.BigEndian.Uint64(c.head[24:]))
		return &size
	}
	return nil
}
