package disk

import (
	"context"
	"io"
)

// aheadBuffers is how many pieces Ahead reads in advance.
const aheadBuffers = 4

// Ahead reads in a goroutine of its own, some pieces in advance, so that
// reading and hashing continue while what was read is sent. Close ends it; it
// does not close r.
func Ahead(ctx context.Context, r io.Reader) io.ReadCloser {
	ctx, cancel := context.WithCancel(ctx)
	a := &ahead{ctx: ctx, cancel: cancel, full: make(chan piece, aheadBuffers), free: make(chan []byte, aheadBuffers)}
	for range aheadBuffers {
		a.free <- make([]byte, pieceSize)
	}
	go a.run(r)
	return a
}

type ahead struct {
	ctx     context.Context
	cancel  context.CancelFunc
	full    chan piece
	free    chan []byte
	current piece
	at      int
}

func (a *ahead) run(r io.Reader) {
	for {
		select {
		case <-a.ctx.Done():
			return
		case buf := <-a.free:
			n, err := io.ReadAtLeast(r, buf, len(buf)/2) // a slow source is not waited for until a piece is full
			if err == io.ErrUnexpectedEOF && n > 0 {
				err = nil // the next read tells whether it ended or broke
			}
			a.full <- piece{buf, n, err} // never blocks: there are no more buffers than places
			if err != nil {
				return
			}
		}
	}
}

// Read implements io.Reader.
func (a *ahead) Read(p []byte) (int, error) {
	for a.at >= a.current.n {
		if a.current.err != nil {
			return 0, a.current.err
		}
		if a.current.buf != nil {
			a.free <- a.current.buf
			a.current = piece{}
		}
		select {
		case a.current = <-a.full:
			a.at = 0
		case <-a.ctx.Done():
			return 0, a.ctx.Err()
		}
	}
	n := copy(p, a.current.buf[a.at:a.current.n])
	a.at += n
	return n, nil
}

// Close ends the reading ahead. A read that is under way ends with its source.
func (a *ahead) Close() error {
	a.cancel()
	return nil
}
