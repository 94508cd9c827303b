package disk

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/lima-vm/go-qcow2reader/image"
	"github.com/lima-vm/go-qcow2reader/image/qcow2"
)

// pieceSize is how much is read at once, in bytes; workers read that many
// pieces side by side, because unpacking clusters takes time.
const pieceSize, workers = 1 << 20, 4

// RawReader reads the disk in a qcow2 image from its beginning to its end. The
// head must have passed CheckQcow2. Close ends the work.
func RawReader(ctx context.Context, file io.ReaderAt) (io.ReadCloser, error) {
	img, err := qcow2.Open(file, nil)
	if err == nil {
		err = img.Readable()
	}
	if errors.Is(err, qcow2.ErrUnsupportedCompression) {
		err = fmt.Errorf("%w: keep it as qcow2, or convert it with qemu-img", err)
	}
	if err != nil {
		return nil, fmt.Errorf("opening qcow2: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &rawReader{img: img, ctx: ctx, cancel: cancel, queue: make(chan chan piece, workers-1), free: make(chan []byte, workers+2)}
	for range workers + 2 {
		r.free <- nil
	}
	go r.schedule()
	return r, nil
}

// piece is a stretch of the disk.
type piece struct {
	buf []byte
	n   int
	err error
}

// rawReader hands out pieces in order. The buffers go round, so that their
// number is the memory.
type rawReader struct {
	img     image.Image
	ctx     context.Context
	cancel  context.CancelFunc
	queue   chan chan piece
	free    chan []byte
	current piece
	at      int
}

// schedule starts the reading of pieces, workers ahead of the reader.
func (r *rawReader) schedule() {
	defer close(r.queue)
	size := r.img.Size()
	for start := int64(0); start < size; start += pieceSize {
		var buf []byte
		select {
		case buf = <-r.free:
		case <-r.ctx.Done():
			return
		}
		result := make(chan piece, 1)
		select {
		case r.queue <- result:
		case <-r.ctx.Done():
			return
		}
		go func() { result <- r.fetch(buf, start, int(min(pieceSize, size-start))) }()
	}
}

func (r *rawReader) fetch(buf []byte, start int64, n int) piece {
	extent, err := r.img.Extent(start, int64(n))
	if err != nil {
		return piece{err: fmt.Errorf("reading qcow2 at %d: %w", start, err)}
	}
	if buf == nil {
		buf = make([]byte, pieceSize)
	}
	if extent.Zero && extent.Length >= int64(n) {
		clear(buf[:n])
		return piece{buf: buf, n: n}
	}
	read, err := r.img.ReadAt(buf[:n], start)
	if read < n {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return piece{err: fmt.Errorf("reading qcow2 at %d: %w", start, err)}
	}
	return piece{buf: buf, n: n}
}

// Read implements io.Reader.
func (r *rawReader) Read(p []byte) (int, error) {
	for r.at >= r.current.n {
		if r.current.buf != nil {
			r.free <- r.current.buf
			r.current = piece{}
		}
		result, ok := <-r.queue
		if !ok {
			if err := r.ctx.Err(); err != nil {
				return 0, err
			}
			return 0, io.EOF
		}
		if r.current, r.at = <-result, 0; r.current.err != nil {
			return 0, r.current.err
		}
	}
	n := copy(p, r.current.buf[r.at:r.current.n])
	r.at += n
	return n, nil
}

// Close ends the work.
func (r *rawReader) Close() error {
	r.cancel()
	return nil
}
