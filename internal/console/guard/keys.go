package guard

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

const (
	// keyBytes is the size of a key of AES-256, shortestSecret that of what it is made from.
	keyBytes, shortestSecret = 32, 32
	// rereadKey is how often the file of the key is read again.
	rereadKey = 10 * time.Second
	// settledKey is how long a new key is only for opening: by then the other replicas have
	// it too. Kubernetes brings a changed Secret to all pods within two minutes.
	settledKey = 5 * time.Minute
	// formerKey is how long a key that is in the file no more still opens.
	formerKey = 24 * time.Hour
)

// errSealed says no more: who made up a cookie learns nothing.
var errSealed = errors.New("it was not sealed by this console, or by a key of long ago")

// Keys seal what browsers keep for us: nobody else can read or change it.
type Keys struct {
	file string
	now  func() time.Time

	mu    sync.Mutex
	read  time.Time
	known []key // the newest first
}

type key struct {
	made  [sha256.Size]byte // of what it was made from
	seal  cipher.AEAD
	since time.Time
	gone  time.Time // when it was in the file no more; zero if it is there
}

// NewKeys returns keys that are derived from a file, which all replicas share and which may
// change; without a file they are this process's own. now is the clock; nil is the system's.
func NewKeys(file string, now func() time.Time) (*Keys, error) {
	k := &Keys{file: file, now: now}
	if k.now == nil {
		k.now = time.Now
	}
	secret := make([]byte, shortestSecret)
	if file == "" {
		_, _ = rand.Read(secret) // it never fails
	} else {
		var err error
		if secret, err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	first, err := newKey(secret)
	if err != nil {
		return nil, err
	}
	// What is there at the start has been there for a while.
	k.known, k.read = []key{first}, k.now()
	return k, nil
}

func newKey(secret []byte) (key, error) {
	if len(secret) < shortestSecret {
		return key{}, fmt.Errorf("it has %d bytes; %d is the least", len(secret), shortestSecret)
	}
	raw, err := hkdf.Key(sha256.New, secret, nil, "slipway console sessions", keyBytes)
	if err != nil {
		return key{}, fmt.Errorf("deriving the key: %w", err)
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return key{}, fmt.Errorf("using the key: %w", err)
	}
	seal, err := cipher.NewGCM(block)
	if err != nil {
		return key{}, fmt.Errorf("using the key: %w", err)
	}
	return key{made: sha256.Sum256(secret), seal: seal}, nil
}

// refresh reads the file again if that was long ago, or at once. A file that cannot be read
// changes nothing.
func (k *Keys) refresh(atOnce bool) {
	now := k.now()
	if k.file == "" || !atOnce && now.Sub(k.read) < rereadKey {
		return
	}
	k.read = now
	k.known = slices.DeleteFunc(k.known, func(one key) bool { return !one.gone.IsZero() && now.Sub(one.gone) > formerKey })
	secret, err := os.ReadFile(k.file)
	if err != nil || sha256.Sum256(secret) == k.known[0].made {
		return
	}
	if next, err := newKey(secret); err == nil {
		next.since, k.known[0].gone = now, now
		k.known = slices.Insert(k.known, 0, next)
	}
}

// sealing is the key that seals: the newest that others have too.
func (k *Keys) sealing() cipher.AEAD {
	now := k.now()
	for _, one := range k.known {
		if now.Sub(one.since) >= settledKey {
			return one.seal
		}
	}
	return k.known[len(k.known)-1].seal
}

// Seal makes a value a text that a cookie can have. purpose is what it is for: it opens for
// that alone.
func (k *Keys) Seal(purpose string, value any) (string, error) {
	plain, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("sealing: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refresh(false)
	seal := k.sealing()
	nonce := make([]byte, seal.NonceSize())
	_, _ = rand.Read(nonce) // it never fails
	return base64.RawURLEncoding.EncodeToString(seal.Seal(nonce, nonce, plain, []byte(purpose))), nil
}

// Open reads what Seal has made.
func (k *Keys) Open(purpose, text string, value any) error {
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return errSealed
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, atOnce := range []bool{false, true} {
		k.refresh(atOnce)
		for _, one := range k.known {
			size := one.seal.NonceSize()
			if len(sealed) < size {
				return errSealed
			}
			if plain, err := one.seal.Open(nil, sealed[:size], sealed[size:], []byte(purpose)); err == nil {
				return json.Unmarshal(plain, value)
			}
		}
		if k.now().Sub(k.read) < time.Second { // strangers must not make us read files all the time
			return errSealed
		}
	}
	return errSealed
}
