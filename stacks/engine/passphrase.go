package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Passphrase returns the passphrase that encrypts the secrets in a state. With generate,
// for a state that is being created, it may make one.
type Passphrase func(ctx context.Context, generate bool) ([]byte, error)

// errNoPassphrase is the error for a passphrase that was never generated, or is lost.
var errNoPassphrase = errors.New("the passphrase of the state is missing")

// PassphraseText is a known passphrase.
func PassphraseText(text string) Passphrase {
	return func(context.Context, bool) ([]byte, error) { return []byte(text), nil }
}

// PassphraseVariable is a passphrase from an environment variable. The engine takes an empty one
// as well, with which everybody can read the secrets: no new state is encrypted with it.
func PassphraseVariable(name, value string) Passphrase {
	return func(_ context.Context, generate bool) ([]byte, error) {
		if generate && strings.TrimSpace(value) == "" {
			return nil, fault.Usage("environment variable "+name, errors.New("it is empty, and would be the passphrase of the state"), "set it to the passphrase; spec.state.passphraseEnv names it")
		}
		return []byte(value), nil
	}
}

// PassphraseFile is a passphrase in a file. Generated it has mode 0600 and 256 random
// bits; a file that other users may read is refused.
func PassphraseFile(path string) Passphrase {
	return func(_ context.Context, generate bool) ([]byte, error) {
		info, err := os.Stat(path)
		switch missing := errors.Is(err, fs.ErrNotExist); {
		case missing && generate:
			return makePassphrase(path)
		case missing:
			return nil, fault.Usage(path, errNoPassphrase, "restore the file; if it is lost, delete the state: slipway up creates a new one")
		}
		if err != nil {
			return nil, fmt.Errorf("reading the passphrase file: %w", err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			return nil, fault.Usage(path, fmt.Errorf("other users may read the passphrase (mode %#o)", info.Mode().Perm()), "run chmod 600 "+path)
		}
		return readPassphrase(path)
	}
}

func makePassphrase(path string) ([]byte, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("creating the folder of the passphrase: %w", err)
	}
	text := rand.Text() + rand.Text()
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) { // another run was faster
		return readPassphrase(path)
	}
	if err != nil {
		return nil, fmt.Errorf("generating the passphrase: %w", err)
	}
	defer file.Close()
	if _, err := io.WriteString(file, text+"\n"); err != nil {
		return nil, fmt.Errorf("writing the passphrase: %w", err)
	}
	if err := file.Sync(); err != nil {
		return nil, fmt.Errorf("writing the passphrase: %w", err)
	}
	return []byte(text), nil
}

func readPassphrase(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the passphrase: %w", err)
	}
	if trimmed := strings.TrimSpace(string(text)); trimmed != "" {
		return []byte(trimmed), nil
	}
	return nil, fault.Usage(path, errors.New("the passphrase is empty"), "restore the passphrase, or remove the file together with the state")
}
