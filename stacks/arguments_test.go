package stacks_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// seen collects what everybody on the machine can read of processes while they
// run: their arguments. The environment only their user reads, and still no
// secret is in it: it goes on to children and into reports of crashes.
type seen struct {
	mu   sync.Mutex
	text map[string]bool
}

// look reads the arguments and environments of this process' descendants until
// done is closed; this process itself has what the tests were given.
func (s *seen) look(done <-chan struct{}) {
	self := os.Getpid()
	for {
		select {
		case <-done:
			return
		case <-time.After(2 * time.Millisecond):
		}
		processes, _ := filepath.Glob("/proc/[0-9]*")
		for _, p := range processes {
			if p == fmt.Sprintf("/proc/%d", self) {
				continue
			}
			for _, file := range []string{"cmdline", "environ"} {
				text, err := os.ReadFile(filepath.Join(p, file))
				if err != nil || len(text) == 0 || !bytes.Contains(bytes.ToLower(text), []byte("pulumi")) {
					continue
				}
				s.mu.Lock()
				s.text[file+" "+string(bytes.ReplaceAll(text, []byte{0}, []byte{' '}))] = true
				s.mu.Unlock()
			}
		}
	}
}

// No secret of an environment is in the arguments or the environment of a
// process that up starts, nor in what up tells.
func TestSecretsAreInNoProcessAndNoEvent(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	w := newWorld(t, cloud, plain)
	processes, done := &seen{text: map[string]bool{}}, make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() { processes.look(done) })
	w.up(t)
	close(done)
	ended.Wait()
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
	if len(processes.text) == 0 {
		t.Log("the run started no process of its own")
	}
	events, err := json.Marshal(w.events.Events())
	if err != nil {
		t.Fatal(err)
	}
	for what, secret := range secrets {
		if secret == "" {
			t.Fatalf("%s is not known", what)
		}
		for text := range processes.text {
			if strings.Contains(text, secret) {
				t.Errorf("%s is in %.80s…", what, text)
			}
		}
		if strings.Contains(string(events), secret) {
			t.Errorf("%s is in an event", what)
		}
	}
}
