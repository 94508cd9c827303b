package backup

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"filippo.io/age"
	"golang.org/x/crypto/chacha20poly1305"

	"github.com/slipway-sh/slipway/internal/fault"
)

// KeySize is the length of a writer's key in bytes.
const KeySize = 32

// Key is the secret of a writer. It signs backups and names their content, and
// decrypts none of it: that needs the identity of a recipient
// (docs/design/0026-backups.md).
type Key [KeySize]byte

// NewKey makes a random key.
func NewKey() (Key, error) {
	var k Key
	_, err := rand.Read(k[:])
	return k, err
}

// Signer names a writer by its public key, as in spec.backup.signers.
func (k Key) Signer() string {
	return signerOf(k.derive().sign.Public().(ed25519.PublicKey))
}

// signerPrefix begins the name of a signer.
const signerPrefix = "ed25519:"

func signerOf(public ed25519.PublicKey) string {
	return signerPrefix + base64.RawURLEncoding.EncodeToString(public)
}

// CheckSigner says what is wrong with the name of a signer.
func CheckSigner(name string) error {
	_, err := publicKey(name)
	return err
}

func publicKey(signer string) (ed25519.PublicKey, error) {
	text, ok := strings.CutPrefix(signer, signerPrefix)
	public, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if !ok || err != nil || len(public) != ed25519.PublicKeySize {
		return nil, errors.New("this is not a signer: ed25519: and 43 characters, as slipway backup list prints it")
	}
	return public, nil
}

// keys are what is derived from a writer's key, one for each use.
type keys struct {
	naming, sealing []byte
	sign            ed25519.PrivateKey
}

func (k Key) derive() keys {
	one := func(use string) []byte {
		// It fails only for lengths that SHA-256 cannot give.
		derived, _ := hkdf.Key(sha256.New, k[:], nil, "slipway backup "+use, KeySize)
		return derived
	}
	return keys{naming: one("naming"), sealing: one("sealing"), sign: ed25519.NewKeyFromSeed(one("signing"))}
}

// name is the keyed address of a content. Without the key nobody can guess a
// content and look whether it is stored.
func (k keys) name(content []byte) address {
	mac := hmac.New(sha256.New, k.naming)
	mac.Write(content)
	return address(mac.Sum(nil))
}

// address names a chunk by its content.
type address [sha256.Size]byte

// MarshalText is base64.
func (a address) MarshalText() ([]byte, error) {
	return base64.RawStdEncoding.AppendEncode(nil, a[:]), nil
}

// UnmarshalText reads what MarshalText wrote.
func (a *address) UnmarshalText(text []byte) error {
	bytes, err := base64.RawStdEncoding.Strict().DecodeString(string(text))
	if err != nil || len(bytes) != len(a) {
		return errors.New("this is no address of a chunk")
	}
	copy(a[:], bytes)
	return nil
}

// seal encrypts and authenticates what only writers and recipients read; bound is
// authenticated with it.
func (k keys) seal(plain, bound []byte) ([]byte, error) {
	aead, err := chacha20poly1305.NewX(k.sealing)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(plain)+aead.Overhead())
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	return aead.Seal(nonce, nonce, plain, bound), nil
}

// errSeal is the cause of what another key sealed, or of a forged byte.
var errSeal = errors.New("it is forged, or of another writer")

func (k keys) open(sealed, bound []byte) ([]byte, error) {
	aead, err := chacha20poly1305.NewX(k.sealing)
	if err != nil {
		return nil, err
	}
	if len(sealed) < aead.NonceSize() {
		return nil, errSeal
	}
	plain, err := aead.Open(nil, sealed[:aead.NonceSize()], sealed[aead.NonceSize():], bound)
	if err != nil {
		return nil, errSeal
	}
	return plain, nil
}

// recipients are those to whom a backup is encrypted.
type recipients struct {
	names []string // sorted
	keys  []age.Recipient
}

func parseRecipients(names []string) (recipients, error) {
	r := recipients{names: slices.Compact(slices.Sorted(slices.Values(names)))}
	for _, name := range r.names {
		recipient, err := age.ParseX25519Recipient(name)
		if err != nil {
			return r, fault.Usage("recipient "+name, err, "write the public key that age-keygen printed: age1…")
		}
		r.keys = append(r.keys, recipient)
	}
	if len(r.keys) == 0 {
		return r, fault.Usage("spec.backup.recipients", errors.New("nobody could read the backup"), "name at least one public key of age-keygen")
	}
	return r, nil
}

func (r recipients) encrypt(plain []byte) ([]byte, error) {
	var sealed bytes.Buffer
	writer, err := age.Encrypt(&sealed, r.keys...)
	if err == nil {
		_, err = writer.Write(plain)
	}
	if err == nil {
		err = writer.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("encrypting: %w", err)
	}
	return sealed.Bytes(), nil
}

// errStranger is the cause of what is encrypted to others.
var errStranger = errors.New("it is of none of the recipients of this backup")

// decrypt decrypts for identities; to are the recipients, for the message.
func decrypt(sealed []byte, to []string, identities []age.Identity) ([]byte, error) {
	plain, err := age.Decrypt(bytes.NewReader(sealed), identities...)
	var none *age.NoIdentityMatchError
	if errors.As(err, &none) {
		return nil, fault.Usage("identity", errStranger, "give the age key file of one of "+strings.Join(to, ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("decrypting: %w", err)
	}
	content, err := io.ReadAll(plain)
	if err != nil {
		return nil, fmt.Errorf("decrypting: %w", err)
	}
	return content, nil
}

// digest is the SHA-256 of a content in hexadecimal.
func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// domain is within what packs are used again: the same writer and the same
// recipients, since a new recipient could not read former packs.
func domain(signer string, recipients []string) string {
	return signer + " for " + strings.Join(recipients, " ")
}
