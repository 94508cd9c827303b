package images

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"strings"

	"golang.org/x/crypto/blake2b"
)

// minisignature checks a signature in the format of minisign 0.8 and later: Ed25519
// over the BLAKE2b-512 of the bytes, so that they can be streamed. The older
// form, over the bytes themselves, is refused.
type minisignature struct {
	hash.Hash
	key       ed25519.PublicKey
	signature []byte
}

// The lengths of algorithm and key id before keys and signatures, in bytes.
const algorithmLen, keyIDLen = 2, 8

func newMinisignature(key, signature string) (verifier, error) {
	rawKey, err := payload(key, algorithmLen+keyIDLen+ed25519.PublicKeySize)
	if err != nil {
		return nil, fmt.Errorf("reading the public key: %w", err)
	}
	raw, err := payload(signature, algorithmLen+keyIDLen+ed25519.SignatureSize)
	if err != nil {
		return nil, fmt.Errorf("reading the signature: %w", err)
	}
	public := ed25519.PublicKey(rawKey[algorithmLen+keyIDLen:])
	switch {
	case string(raw[:2]) == "Ed":
		return nil, errors.New("the signature has minisign's old format: sign again with minisign 0.8 or later")
	case string(raw[:2]) != "ED":
		return nil, errors.New("this is not a minisign signature")
	case !bytes.Equal(raw[2:10], rawKey[2:10]):
		return nil, fmt.Errorf("%w: it was made with another key (%016X, the manifest has %016X)", errSignature,
			binary.LittleEndian.Uint64(raw[2:10]), binary.LittleEndian.Uint64(rawKey[2:10])) // as minisign prints them
	}
	if err := trustedComment(public, signature, raw[10:]); err != nil {
		return nil, err
	}
	sum, err := blake2b.New512(nil)
	if err != nil {
		return nil, err
	}
	return &minisignature{sum, public, raw[10:]}, nil
}

// payload is the first line that is no comment, decoded.
func payload(text string, size int) ([]byte, error) {
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "untrusted comment:") {
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(raw) != size {
			return nil, errors.New("it is not in minisign's format")
		}
		return raw, nil
	}
	return nil, errors.New("it is empty")
}

// trustedComment checks the second signature, over the first and the comment.
func trustedComment(key ed25519.PublicKey, text string, signature []byte) error {
	_, rest, found := strings.Cut(text, "\ntrusted comment: ")
	comment, global, _ := strings.Cut(rest, "\n")
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(global))
	signed := append(bytes.Clone(signature), strings.TrimRight(comment, "\r")...)
	if !found || err != nil || len(raw) != ed25519.SignatureSize || !ed25519.Verify(key, signed, raw) {
		return fmt.Errorf("%w: the signature of its comment", errSignature)
	}
	return nil
}

func (m *minisignature) check() error {
	if !ed25519.Verify(m.key, m.Sum(nil), m.signature) {
		return errSignature
	}
	return nil
}
