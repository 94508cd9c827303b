package target

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/config"
)

// TestAccessToTheSeed has the path of a key that is there, and never a key.
func TestAccessToTheSeed(t *testing.T) {
	t.Parallel()
	loaded := &config.Loaded{Dir: t.TempDir(), Environment: &config.Environment{}}
	s := &Seed{Name: "prod-seed", Address: "192.0.2.5", user: "debian", hostKey: "ssh-ed25519 AAAA comment of it", privateKey: "BEGIN PRIVATE KEY", keyName: "prod-ssh-key"}
	want := Access{Address: "192.0.2.5", User: "debian", HostKey: "ssh-ed25519 AAAA"}
	if got := s.Access(loaded); got == nil || *got != want {
		t.Errorf("without the file: %+v", got)
	}
	path := filepath.Join(loaded.SecretsDir(), "keys", "prod-ssh-key.pem")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil || os.WriteFile(path, []byte("BEGIN PRIVATE KEY"), 0o600) != nil {
		t.Fatal(err)
	}
	want.IdentityFile = path
	got := s.Access(loaded)
	text, err := json.Marshal(got)
	if err != nil || *got != want || strings.Contains(string(text), "PRIVATE") {
		t.Errorf("with the file: %s, %v", text, err)
	}
	s.keyName, loaded.Environment.Spec.Seed.SSH.IdentityFile = "", config.File(path)
	if got := s.Access(loaded); got.IdentityFile != path {
		t.Errorf("with a key of the user's: %+v", got)
	}
	for name, s := range map[string]*Seed{"no address": {hostKey: "k"}, "no host key": {Address: "a"}} {
		if got := s.Access(loaded); got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
