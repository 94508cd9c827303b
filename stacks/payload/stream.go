package payload

import (
	"fmt"
	"hash"
	"io"
)

// summer hashes and counts what is written to it.
type summer struct {
	hash hash.Hash
	size int64
}

func (s *summer) Write(p []byte) (int, error) {
	s.size += int64(len(p))
	return s.hash.Write(p)
}

// streamFrom reads what write writes, from an offset on. Closing it ends the writer.
func streamFrom(write func(io.Writer) error, offset int64) (io.ReadCloser, error) {
	reader, writer := io.Pipe()
	go func() { writer.CloseWithError(write(writer)) }()
	if n, err := io.CopyN(io.Discard, reader, offset); err != nil {
		reader.Close()
		return nil, fmt.Errorf("skipping %d bytes, after %d: %w", offset, n, err)
	}
	return reader, nil
}
