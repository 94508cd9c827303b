package backup

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// maxTable bounds a table before compression, in bytes: some millions of chunks.
const maxTable = 1 << 30

// The sections of a backup, in this order.
const (
	sectionHead    = "head"
	sectionFile    = "file"
	sectionState   = "state"
	sectionCloud   = "cloud"
	sectionObjects = "objects"
	// The files of AddFile.
	sectionEtcd        = FileEtcd
	sectionDatastore   = FileDatastore
	sectionControllers = FileControllers
)

// table says where each chunk of a backup is.
type table struct {
	// Packs are the digests of packs.
	Packs []string `json:"packs"`
	// Sections have their chunks in order.
	Sections map[string][]reference `json:"sections"`
}

// reference is a chunk in a pack, which is named by its index in the table.
type reference struct {
	piece
	Pack int `json:"pack"`
}

func (t table) encode(k keys) ([]byte, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	writer, err := newEncoder()
	if err != nil {
		return nil, err
	}
	defer writer.Close()
	return k.seal(writer.EncodeAll(text, nil), []byte("table"))
}

func decodeTable(k keys, sealed []byte) (table, error) {
	t := table{}
	compressed, err := k.open(sealed, []byte("table"))
	if err != nil {
		return t, err
	}
	text, err := expand(compressed, maxTable)
	if err != nil {
		return t, err
	}
	if err := json.Unmarshal(text, &t); err != nil {
		return t, fmt.Errorf("reading a table: %w", err)
	}
	for _, references := range t.Sections {
		for _, one := range references {
			if one.Pack < 0 || one.Pack >= len(t.Packs) || one.Offset < 0 || one.Length < 0 {
				return t, errors.New("the table names a chunk that is nowhere")
			}
		}
	}
	return t, nil
}

// newEncoder makes a compressor for chunks, with the memory that they need.
func newEncoder() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
}

// expand decompresses; the result has at most so many bytes.
func expand(compressed []byte, most uint64) ([]byte, error) {
	reader, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(most))
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	text, err := reader.DecodeAll(compressed, nil)
	if err != nil {
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	return text, nil
}
