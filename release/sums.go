package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aead.dev/minisign"
)

const sumsFile = "SHA256SUMS"

// sums writes the digests of all files as sha256sum does, and their signature.
func (r *release) sums(context.Context) error {
	entries, err := os.ReadDir(r.out) // sorted
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, entry := range entries {
		sum, err := digest(filepath.Join(r.out, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%s  %s\n", sum, entry.Name())
	}
	path := filepath.Join(r.out, sumsFile)
	if err := os.WriteFile(path, []byte(lines.String()), 0o644); err != nil || r.signer == nil {
		return err
	}
	return os.WriteFile(path+".minisig", r.sign([]byte(lines.String())), 0o644)
}

// sign makes the signature that the command minisign reads. Its comment, which
// is signed too, has the commit's time: the same release is signed the same way.
func (r *release) sign(text []byte) []byte {
	reader := minisign.NewReader(strings.NewReader(string(text)))
	_, _ = io.Copy(io.Discard, reader)
	return reader.SignWithComments(*r.signer, fmt.Sprintf("%s %s, commit %s of %s", r.program, r.version, r.source.commit, r.source.time.Format(time.RFC3339)), "signature of "+r.program+" "+r.version)
}

func digest(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	return hex.EncodeToString(hash.Sum(nil)), err
}

// readKey takes a key of minisign: the path of its file, or its text, as a
// secret of a CI is.
func readKey(key, password string) (*minisign.PrivateKey, error) {
	text := []byte(key)
	if !strings.Contains(key, "untrusted comment:") {
		var err error
		if text, err = os.ReadFile(key); err != nil {
			return nil, fmt.Errorf("%s: reading the key: %w", keyVariable, errors.Unwrap(err)) // the path may be a key after all
		}
	}
	if minisign.IsEncrypted(text) {
		private, err := minisign.DecryptKey(password, text)
		if err != nil {
			return nil, fmt.Errorf("%s: the key cannot be decrypted: check the password in %s", keyVariable, passwordVariable)
		}
		return &private, nil
	}
	var private minisign.PrivateKey
	if err := private.UnmarshalText(text); err != nil {
		return nil, fmt.Errorf("%s: this is no secret key of minisign", keyVariable)
	}
	return &private, nil
}
