package artifact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"aead.dev/minisign"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Trust says whose bundles are accepted. The zero value accepts none.
type Trust struct {
	keys     []minisign.PublicKey
	unsigned bool
}

// NewTrust reads public keys of minisign, each a file or the key itself. With
// unsigned, and no key, any bundle is accepted.
func NewTrust(keys []string, unsigned bool) (Trust, error) {
	t := Trust{unsigned: unsigned}
	var wrong []error
	for _, text := range keys {
		key, err := publicKey(text)
		if err != nil {
			wrong = append(wrong, fault.Usage("--key "+text, err, "give a public key of minisign, which begins with RW, or its file"))
		}
		t.keys = append(t.keys, key)
	}
	switch {
	case len(keys) > 0 && unsigned:
		wrong = append(wrong, fault.Usage("--key and --unsigned", errors.New("both are given"), "leave --unsigned out to check the signature"))
	case len(keys) == 0 && !unsigned:
		wrong = append(wrong, fault.Usage("--key", errors.New("no key is given, so no signature can be checked"), "give the publisher's public key, or accept any bundle with --unsigned"))
	}
	return t, errors.Join(wrong...)
}

func publicKey(text string) (minisign.PublicKey, error) {
	var key minisign.PublicKey
	if !strings.HasPrefix(text, "RW") {
		content, err := os.ReadFile(text)
		if err != nil {
			return key, err
		}
		text = string(content)
	}
	if key.UnmarshalText([]byte(strings.TrimSpace(text))) != nil {
		return key, errors.New("this is no public key of minisign")
	}
	return key, nil
}

// Check compares a bill with its signature. The object is what the error is about.
func (t Trust) Check(object string, bill, signature []byte) error {
	if t.unsigned {
		return nil
	}
	if len(signature) == 0 {
		return fault.New(object, errors.New("the bundle is not signed"), "ask its publisher for a signed one, or accept it with --unsigned")
	}
	var parsed minisign.Signature
	if err := parsed.UnmarshalText(signature); err != nil {
		return fault.New(object, errors.New("the signature of the bill has not minisign's format"), "get the bundle again, or ask its publisher")
	}
	for _, key := range t.keys {
		reader := minisign.NewReader(bytes.NewReader(bill))
		if _, err := io.Copy(io.Discard, reader); err == nil && reader.Verify(key, signature) {
			return nil
		}
	}
	why := fmt.Errorf("the bill was signed with another key (%016X)", parsed.KeyID)
	for _, key := range t.keys {
		if key.ID() == parsed.KeyID {
			why = errors.New("the bill is not what was signed")
		}
	}
	return fault.New(object, why, "do not use this bundle: ask its publisher, and compare the key with the one that they publish")
}

// Sign signs the bill of a folder that is open for writing. The key is the text
// of a secret key of minisign.
func Sign(folder *bundle.Folder, key []byte, password, comment string) error {
	private, err := privateKey(key, password)
	if err != nil {
		return err
	}
	bill, _, err := folder.BillText()
	if err != nil {
		return err
	}
	reader := minisign.NewReader(bytes.NewReader(bill))
	if _, err := io.Copy(io.Discard, reader); err != nil {
		return err
	}
	return folder.SetSignature(reader.SignWithComments(private, comment, "signature of a bundle of Slipway"))
}

func privateKey(text []byte, password string) (minisign.PrivateKey, error) {
	if minisign.IsEncrypted(text) {
		key, err := minisign.DecryptKey(password, text)
		if err != nil {
			return key, fault.Usage("--key", errors.New("the key cannot be decrypted"), "check the password")
		}
		return key, nil
	}
	var key minisign.PrivateKey
	if key.UnmarshalText(text) != nil {
		return key, fault.Usage("--key", errors.New("this is no secret key of minisign"), "make one with minisign -G")
	}
	return key, nil
}
