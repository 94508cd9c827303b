package stacks_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// No secret of an environment is in what up tells. (The engine runs within this
// process: there are no arguments to look at here.)
func TestSecretsAreInNoEvent(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	w := newWorld(t, cloud, plain)
	w.up(t)
	var made struct {
		Credential struct{ Secret string } `json:"application_credential"`
	}
	if err := json.Unmarshal(w.clients.calls.credential, &made); err != nil || made.Credential.Secret == "" {
		t.Fatalf("no secret in %s", w.clients.calls.credential)
	}
	key, err := os.ReadFile(filepath.Join(w.folder, ".slipway", "keys", "prod-ssh-key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	passphrase, err := os.ReadFile(filepath.Join(w.folder, ".slipway", "passphrase"))
	if err != nil {
		t.Fatal(err)
	}
	secrets := map[string]string{"the credential": made.Credential.Secret, "the private key": strings.Split(string(key), "\n")[2],
		"the cloud's password": cloud.Passwords().Demo, "the passphrase": strings.TrimSpace(string(passphrase)), "the token": w.clients.provider.Token()}
	events, err := json.Marshal(w.events.Events())
	if err != nil {
		t.Fatal(err)
	}
	for what, secret := range secrets {
		if secret == "" {
			t.Fatalf("%s is not known", what)
		}
		if strings.Contains(string(events), secret) {
			t.Errorf("%s is in an event", what)
		}
	}
}
