package engine

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/slipway-sh/slipway/internal/fault"
)

// TestAPassphraseFileThatCannotBeUsed says why, and is never replaced by another.
func TestAPassphraseFileThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := write(t, filepath.Join(folder, "file"), "a phrase\n")
	dangling := filepath.Join(folder, "dangling")
	if err := os.Symlink(filepath.Join(folder, "gone", "away"), dangling); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(file, "below"):                    "creating the folder of the passphrase: ",
		filepath.Join(folder, strings.Repeat("x", 300)): "generating the passphrase: ",
		dangling: "reading the passphrase: ",
	} {
		if phrase, err := makePassphrase(path); err == nil || !strings.HasPrefix(err.Error(), want) || phrase != nil {
			t.Errorf("%s: %q, %v", path, phrase, err)
		}
	}
	if phrase, err := makePassphrase(file); err != nil || string(phrase) != "a phrase" {
		t.Errorf("one that another run made meanwhile: %q, %v", phrase, err)
	}
	if _, err := PassphraseFile(filepath.Join(file, "below"))(t.Context(), true); err == nil || !strings.HasPrefix(err.Error(), "reading the passphrase file: ") {
		t.Errorf("one below a file: %v", err)
	}
	if _, err := PassphraseFile(filepath.Join(folder, "none"))(t.Context(), false); !errors.Is(err, errNoPassphrase) || fault.ExitCode(err) != fault.ExitUsage || fault.Remedy(err) == "" {
		t.Errorf("one that is not there: %v", err)
	}
	if err := os.Chmod(file, 0o604); err != nil {
		t.Fatal(err)
	}
	if _, err := PassphraseFile(file)(t.Context(), false); fault.Remedy(err) != "run chmod 600 "+file || !strings.Contains(err.Error(), "mode 0604") {
		t.Errorf("one that all may read: %v", err)
	}
}

// TestASealedPassphraseThatCannotBeUsed names the file that is wrong, and what it should be.
func TestASealedPassphraseThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	seal := func(name, text string) (string, []byte) {
		var out bytes.Buffer
		w, err := age.Encrypt(&out, identity.Recipient())
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err := errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		return write(t, filepath.Join(folder, name), out.String()), out.Bytes()
	}
	key := write(t, filepath.Join(folder, "key"), identity.String()+"\n")
	noKey := write(t, filepath.Join(folder, "no-key"), "a word\n")
	sealed, text := seal("sealed", "the phrase")
	blank, _ := seal("blank", " \n")
	open := write(t, filepath.Join(folder, "open"), "the phrase")
	cut := write(t, filepath.Join(folder, "cut"), string(text[:len(text)-1]))
	for name, test := range map[string]struct{ path, key, object, remedy string }{
		"no identity":        {sealed, filepath.Join(folder, "none"), filepath.Join(folder, "none"), "give the file with the age identity"},
		"no age identity":    {sealed, noKey, noKey, "give a file from age-keygen"},
		"no file":            {filepath.Join(folder, "none"), key, filepath.Join(folder, "none"), "create it with age --encrypt --recipients-file …"},
		"one that is open":   {open, key, open, "give the identity for which the passphrase was encrypted"},
		"nothing in it":      {blank, key, blank, "encrypt a passphrase"},
		"half of it is lost": {cut, key, "decrypting " + cut, ""},
	} {
		phrase, err := PassphraseAge(test.path, test.key)(t.Context(), false)
		if err == nil || phrase != nil || !strings.HasPrefix(err.Error(), test.object+": ") || fault.Remedy(err) != test.remedy {
			t.Errorf("%s: %q, %v (%s)", name, phrase, err, fault.Remedy(err))
		}
	}
	if phrase, err := PassphraseAge(sealed, key)(t.Context(), false); err != nil || string(phrase) != "the phrase" {
		t.Errorf("the right one: %q, %v", phrase, err)
	}
}
