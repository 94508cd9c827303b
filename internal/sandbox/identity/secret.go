package identity

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/crypto/bcrypt"
)

// secrets hashes secrets that are only compared and encrypts those that are read back.
type secrets struct {
	cost int
	aead cipher.AEAD
	// verified remembers, under a key of this process, which pairs of secret and hash match: bcrypt
	// is slow on purpose, and clients log in often.
	memory   []byte
	mu       sync.Mutex
	verified map[string]bool
}

func newSecrets(key []byte, cost int) (*secrets, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("key of the identity service: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("key of the identity service: %w", err)
	}
	if cost == 0 {
		cost = bcrypt.DefaultCost
	}
	memory := make([]byte, 32)
	rand.Read(memory)
	return &secrets{cost: cost, aead: aead, memory: memory, verified: map[string]bool{}}, nil
}

// digest shortens a secret of any length for bcrypt, which reads 72 bytes.
func digest(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return []byte(base64.RawStdEncoding.EncodeToString(sum[:]))
}

// hashRandom hashes a secret of newSecret. bcrypt slows down guessing; nobody guesses 256 random
// bits, and a cloud creates many such secrets.
func hashRandom(secret string) string { return randomHash + string(digest(secret)) }

// randomHash is the prefix of the hashes of hashRandom; those of bcrypt begin with "$2a$".
const randomHash = "$sha256$"

func (s *secrets) hash(secret string) (string, error) {
	hash, err := bcrypt.GenerateFromPassword(digest(secret), s.cost)
	return string(hash), err
}

// verify must not be called inside a transaction: it takes long.
func (s *secrets) verify(hash, secret string) bool {
	if hash == "" {
		return false
	}
	if strings.HasPrefix(hash, randomHash) {
		return hmac.Equal([]byte(hash), []byte(hashRandom(secret)))
	}
	mac := hmac.New(sha256.New, s.memory)
	mac.Write([]byte(hash))
	mac.Write([]byte(secret))
	pair := string(mac.Sum(nil))
	s.mu.Lock()
	known := s.verified[pair]
	s.mu.Unlock()
	if known {
		return true
	}
	if bcrypt.CompareHashAndPassword([]byte(hash), digest(secret)) != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.verified) > 10_000 {
		clear(s.verified)
	}
	s.verified[pair] = true
	return true
}

func (s *secrets) seal(plain []byte) []byte {
	nonce := make([]byte, s.aead.NonceSize())
	rand.Read(nonce)
	return s.aead.Seal(nonce, nonce, plain, nil)
}

func (s *secrets) open(sealed []byte) ([]byte, error) {
	n := s.aead.NonceSize()
	if len(sealed) < n {
		return nil, errors.New("opening credential: too short")
	}
	plain, err := s.aead.Open(nil, sealed[:n], sealed[n:], nil)
	if err != nil {
		return nil, fmt.Errorf("opening credential: %w", err)
	}
	return plain, nil
}

// newSecret returns 256 random bits as text.
func newSecret() string {
	raw := make([]byte, 32)
	rand.Read(raw)
	return base64.RawURLEncoding.EncodeToString(raw)
}

// tokenID returns the id under which a token is kept: its hash, so that nobody can log in with what
// is in the state file.
func tokenID(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
