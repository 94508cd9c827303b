package engine_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"filippo.io/age"
	"filippo.io/age/armor"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks/engine"
)

func TestPassphraseIsMadeOnceForOneselfAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "passphrase")
	first, err := engine.PassphraseFile(path)(t.Context(), true)
	if err != nil || len(first) < 40 {
		t.Fatalf("%d bytes, %v", len(first), err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if second, err := engine.PassphraseFile(path)(t.Context(), true); err != nil || !bytes.Equal(first, second) {
		t.Errorf("another one the second time, %v", err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.PassphraseFile(path)(t.Context(), true); fault.ExitCode(err) != fault.ExitUsage || fault.Remedy(err) == "" {
		t.Errorf("one that others may read: %v", err)
	}
	if err := os.WriteFile(path, []byte("\n"), 0o600); err != nil || os.Chmod(path, 0o600) != nil {
		t.Fatal(err)
	}
	if _, err := engine.PassphraseFile(path)(t.Context(), true); fault.ExitCode(err) != fault.ExitUsage {
		t.Errorf("an empty one: %v", err)
	}
}

// TestAnEmptyVariableIsNoPassphrase: a state that was encrypted with it can be read, and no new
// one is made.
func TestAnEmptyVariableIsNoPassphrase(t *testing.T) {
	t.Parallel()
	for value, refused := range map[string]bool{"": true, " \n": true, "the phrase": false} {
		phrase := engine.PassphraseVariable("SLIPWAY_PASSPHRASE", value)
		if text, err := phrase(t.Context(), false); err != nil || string(text) != value {
			t.Errorf("reading with %q: %q, %v", value, text, err)
		}
		text, err := phrase(t.Context(), true)
		if refused != (err != nil) || refused && fault.ExitCode(err) != fault.ExitUsage || !refused && string(text) != value {
			t.Errorf("a new state with %q: %q, %v", value, text, err)
		}
	}
}

func TestPassphraseUnderAge(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	key, other := filepath.Join(folder, "key"), filepath.Join(folder, "other")
	for path, text := range map[string]string{key: identity.String(), other: stranger.String()} {
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, armored := range map[string]bool{"plain": false, "armored": true} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(folder, name)
			if err := os.WriteFile(path, seal(t, identity.Recipient(), "the phrase\n", armored), 0o600); err != nil {
				t.Fatal(err)
			}
			if phrase, err := engine.PassphraseAge(path, key)(t.Context(), true); err != nil || string(phrase) != "the phrase" {
				t.Errorf("%q, %v", phrase, err)
			}
			if _, err := engine.PassphraseAge(path, other)(t.Context(), true); fault.ExitCode(err) != fault.ExitUsage {
				t.Errorf("a stranger's key: %v", err)
			}
		})
	}
}

func seal(t *testing.T, to age.Recipient, text string, armored bool) []byte {
	t.Helper()
	var out bytes.Buffer
	var sink io.WriteCloser = struct {
		io.Writer
		io.Closer
	}{&out, io.NopCloser(nil)}
	if armored {
		sink = armor.NewWriter(&out)
	}
	w, err := age.Encrypt(sink, to)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if armored {
		if err := sink.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}
