package keymanager

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// vault encrypts payloads, each for the id of its secret, so that one cannot
// be put in another's place in the state file.
type vault struct {
	path string
	once sync.Once
	aead cipher.AEAD
	err  error
}

func newVault(dir string) *vault { return &vault{path: filepath.Join(dir, "keymanager.key")} }

func (v *vault) open() (cipher.AEAD, error) {
	v.once.Do(func() {
		key, err := v.key()
		if err != nil {
			v.err = fmt.Errorf("key of the key manager: %w", err)
			return
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			v.err = fmt.Errorf("key of the key manager: %w", err)
			return
		}
		v.aead, v.err = cipher.NewGCM(block)
	})
	return v.aead, v.err
}

// key reads the key or makes one. A new one is renamed into place when it is
// whole, so that a crash leaves none that is cut short.
func (v *vault) key() ([]byte, error) {
	key, err := os.ReadFile(v.path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	key = make([]byte, 32)
	rand.Read(key)
	file, err := os.CreateTemp(filepath.Dir(v.path), ".keymanager-*") // mode 0600
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(key)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return nil, err
	}
	return key, os.Rename(file.Name(), v.path)
}

// seal encrypts the payload of a secret.
func (v *vault) seal(id string, payload []byte) ([]byte, error) {
	aead, err := v.open()
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(payload)+aead.Overhead())
	rand.Read(nonce)
	return aead.Seal(nonce, nonce, payload, []byte(id)), nil
}

// unseal decrypts what seal made for the same id.
func (v *vault) unseal(id string, sealed []byte) ([]byte, error) {
	aead, err := v.open()
	if err != nil {
		return nil, err
	}
	n := aead.NonceSize()
	if len(sealed) < n {
		return nil, errors.New("payload is too short")
	}
	payload, err := aead.Open(nil, sealed[:n], sealed[n:], []byte(id))
	if err != nil {
		return nil, fmt.Errorf("decrypting payload of secret %s: %w", id, err)
	}
	return payload, nil
}
