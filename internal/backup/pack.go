package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// packMagic begins a pack.
const packMagic = "slipway pack 1\n"

// packSize is the length in bytes at which a pack is written; maxPack bounds what is
// read as one.
const (
	packSize = 8 << 20
	maxPack  = 64 << 20
)

// piece is where in the plain text of a pack a chunk is. Both numbers are bytes.
type piece struct {
	ID     address `json:"id"`
	Offset int     `json:"offset"`
	Length int     `json:"length"`
}

// pack is one that is being filled.
type pack struct {
	index  int // in the table
	plain  []byte
	pieces []piece
}

func (p *pack) add(id address, compressed []byte) piece {
	added := piece{id, len(p.plain), len(compressed)}
	p.pieces, p.plain = append(p.pieces, added), append(p.plain, compressed...)
	return added
}

// encode encrypts a pack. Before its encrypted body it has the list of its pieces,
// sealed with the writer's key: so a writer that was killed finds what it stored.
func (p *pack) encode(k keys, to recipients, domain string) ([]byte, error) {
	body, err := to.encrypt(p.plain)
	if err != nil {
		return nil, err
	}
	list, err := json.Marshal(p.pieces)
	if err != nil {
		return nil, err
	}
	sealed, err := k.seal(list, bound(domain, body))
	if err != nil {
		return nil, err
	}
	whole := make([]byte, 0, len(packMagic)+4+len(sealed)+len(body))
	whole = append(whole, packMagic...)
	whole = binary.BigEndian.AppendUint32(whole, uint32(len(sealed)))
	return append(append(whole, sealed...), body...), nil
}

// bound is what the list of a pack is authenticated with.
func bound(domain string, body []byte) []byte {
	sum := sha256.Sum256(body)
	return append([]byte("pack "+domain+" "), sum[:]...)
}

// split parts a pack into its sealed list and its encrypted body.
func split(whole []byte) (sealed, body []byte, err error) {
	rest, ok := bytes.CutPrefix(whole, []byte(packMagic))
	if !ok || len(rest) < 4 {
		return nil, nil, errors.New("this is no pack")
	}
	length := int64(binary.BigEndian.Uint32(rest))
	if rest = rest[4:]; int64(len(rest)) < length {
		return nil, nil, errors.New("the pack is cut short")
	}
	return rest[:length], rest[length:], nil
}

// pieces reads the list of a pack that this writer's key sealed.
func pieces(k keys, domain string, whole []byte) ([]piece, error) {
	sealed, body, err := split(whole)
	if err != nil {
		return nil, err
	}
	list, err := k.open(sealed, bound(domain, body))
	if err != nil {
		return nil, err
	}
	var found []piece
	if err := json.Unmarshal(list, &found); err != nil {
		return nil, fmt.Errorf("reading a pack: %w", err)
	}
	return found, nil
}
