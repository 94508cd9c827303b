// Package source opens the bytes of images: from the web with resumption,
// from files, and from a bundle.
package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Opener opens sources. The zero value works.
type Opener struct {
	// Client makes the requests; nil is a client with the proxy of the
	// process's environment.
	Client *http.Client
	// Bundle is the folder of the bundle.
	Bundle string
	// Stall is how long a server may send nothing; 0 is a minute.
	Stall time.Duration
	// Backoff is the first pause before a download continues; 0 is half a
	// second. It doubles.
	Backoff time.Duration
	// Waiting, if set, receives the reason when a download pauses.
	Waiting func(string)
}

// Stream is an open source.
type Stream struct {
	io.ReadCloser
	// Size is in bytes, -1 if it is not known.
	Size int64
	// File is the open file of a local source, nil for others.
	File *os.File
	// SHA256 is the digest that the bundle's bill has, "" for others.
	SHA256 string
	// Properties are the ones that the bill has of the image.
	Properties map[string]string
}

// Open opens an address that begins with http:// or https://.
func (o Opener) Open(ctx context.Context, address string) (*Stream, error) {
	d, err := o.download(ctx, address)
	if err != nil {
		return nil, err
	}
	return &Stream{ReadCloser: d, Size: d.size}, nil
}

// OpenFile opens a file.
func (o Opener) OpenFile(path string) (*Stream, error) {
	file, err := os.Open(path)
	if err != nil {
		var known *fs.PathError
		if errors.As(err, &known) {
			err = known.Err // it repeats the path
		}
		return nil, fault.New(path, err, "check the path; it is relative to the manifest's folder")
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a file")
	}
	if err != nil {
		file.Close()
		return nil, fault.New(path, err, "name the file of the image")
	}
	return &Stream{ReadCloser: file, Size: info.Size(), File: file}, nil
}

// OpenBundle opens a machine image of the bundle.
func (o Opener) OpenBundle(name string) (*Stream, error) {
	folder, err := bundle.Open(o.Bundle)
	if err != nil {
		return nil, err
	}
	item := folder.Bill().Item(name)
	if item == nil || item.Kind != bundle.Machine {
		return nil, fault.New("bundle "+o.Bundle, fmt.Errorf("it has no machine image %q", name), "see slipway bundle list for its images, or run slipway bundle build")
	}
	stream, err := o.OpenFile(filepath.Join(o.Bundle, item.Path))
	if err == nil {
		stream.SHA256, stream.Properties = item.SHA256, item.Properties
	}
	return stream, err
}

// maxText bounds lists, signatures and keys, in bytes.
const maxText = 4 << 20

// ReadText reads a small text from an address or a file.
func (o Opener) ReadText(ctx context.Context, from string) ([]byte, error) {
	var stream *Stream
	var err error
	if IsAddress(from) {
		stream, err = o.Open(ctx, from)
	} else {
		stream, err = o.OpenFile(from)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Usage(from, errors.New("the file does not exist"), "check the path; docs/guides/images.md describes the file")
	}
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	text, err := io.ReadAll(io.LimitReader(stream, maxText+1))
	if err == nil && len(text) > maxText {
		err = fmt.Errorf("it is larger than %d bytes", maxText)
	}
	if err != nil {
		return nil, fault.New(from, err, "check the URL")
	}
	return text, nil
}

// IsAddress tells an address from a path.
func IsAddress(text string) bool {
	return strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")
}
