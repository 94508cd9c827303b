package backup_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"strings"
	"testing"

	"filippo.io/age"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/backuptest"
)

// TestTheManagementClustersOwnBackupHasTheState: it cannot read what was sealed for the
// recipients, and who can read the backup gets it from there.
func TestTheManagementClustersOwnBackupHasTheState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sealed, err := backup.Seal(backup.Sealed{File: []byte("kind: Environment"), State: []byte(`{"secret":"deep"}`), Passphrase: []byte("open sesame")}, w.options.Recipients)
	if err != nil {
		t.Fatal(err)
	}
	for _, plain := range []string{"Environment", "deep", "sesame"} {
		if bytes.Contains(sealed, []byte(plain)) {
			t.Errorf("%q can be read", plain)
		}
	}
	write := func(content string) (string, error) {
		s := backuptest.Snapshot(3, begin)
		s.File, s.State, s.StatePassphrase = nil, nil, nil
		s.Objects = append(s.Objects, sealedSecret(content))
		b := w.write(t, s)
		got, err := w.open(t).Read(t.Context(), b.ID, w.other)
		if err != nil {
			return "", err
		}
		return string(got.File) + "|" + string(got.State) + "|" + string(got.StatePassphrase), nil
	}
	if got, err := write(base64.StdEncoding.EncodeToString(sealed)); err != nil || got != `kind: Environment|{"secret":"deep"}|open sesame` {
		t.Errorf("read %q, %v", got, err)
	}
	sealed[len(sealed)-1] ^= 1
	if _, err := write(base64.StdEncoding.EncodeToString(sealed)); err == nil || !strings.Contains(err.Error(), "the sealed environment") {
		t.Errorf("forged: %v", err)
	}
	noise := make([]byte, 2<<20)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Seal(backup.Sealed{State: noise}, w.options.Recipients); err == nil {
		t.Error("a state that does not fit a Secret is accepted")
	}
}

func sealedSecret(content string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("v1")
	o.SetKind("Secret")
	o.SetNamespace(backup.SealedNamespace)
	o.SetName(backup.SealedName)
	o.Object["data"] = map[string]any{backup.SealedKey: content}
	return o
}

// TestSealedForFormerRecipients: the management cluster writes for new recipients before up has
// sealed the environment for them. They can read its backups.
func TestSealedForFormerRecipients(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sealed := must(backup.Seal(backup.Sealed{State: []byte("{}")}, []string{w.first.Recipient().String()}))
	w.options.Recipients = []string{w.other.Recipient().String()}
	s := backuptest.Snapshot(3, begin)
	s.File, s.State, s.StatePassphrase = nil, nil, nil
	s.Objects = append(s.Objects, sealedSecret(base64.StdEncoding.EncodeToString(sealed)))
	b := w.write(t, s)
	for state, identities := range map[string][]age.Identity{"": {w.other}, "{}": {w.other, w.first}} {
		got, err := w.open(t).Read(t.Context(), b.ID, identities...)
		if err != nil {
			t.Errorf("%d identities: %v", len(identities), err)
			continue
		}
		if len(got.Objects) != len(s.Objects) || string(got.State) != state {
			t.Errorf("%d identities: %d objects, state %q", len(identities), len(got.Objects), got.State)
		}
	}
}
