package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"filippo.io/age"
	"filippo.io/age/armor"

	"github.com/slipway-sh/slipway/internal/fault"
)

// PassphraseAge is a passphrase in an age-encrypted file, which can be kept in version
// control; the identity in the other file decrypts it.
func PassphraseAge(path, identityPath string) Passphrase {
	return func(context.Context, bool) ([]byte, error) {
		identityFile, err := os.Open(identityPath)
		if err != nil {
			return nil, fault.Usage(identityPath, err, "give the file with the age identity")
		}
		defer identityFile.Close()
		identities, err := age.ParseIdentities(identityFile)
		if err != nil {
			return nil, fault.Usage(identityPath, err, "give a file from age-keygen")
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fault.Usage(path, err, "create it with age --encrypt --recipients-file …")
		}
		return openAge(path, text, identities)
	}
}

func openAge(path string, text []byte, identities []age.Identity) ([]byte, error) {
	var sealed io.Reader = bytes.NewReader(text)
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte(armor.Header)) {
		sealed = armor.NewReader(bytes.NewReader(bytes.TrimSpace(text)))
	}
	plain, err := age.Decrypt(sealed, identities...)
	if err != nil {
		return nil, fault.Usage(path, err, "give the identity for which the passphrase was encrypted")
	}
	passphrase, err := io.ReadAll(plain)
	if err != nil {
		return nil, fmt.Errorf("decrypting %s: %w", path, err)
	}
	if passphrase = bytes.TrimSpace(passphrase); len(passphrase) == 0 {
		return nil, fault.Usage(path, errors.New("the passphrase is empty"), "encrypt a passphrase")
	}
	return passphrase, nil
}
