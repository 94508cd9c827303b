package sandbox

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/sandbox/identity"
)

// Secrets are made when a cloud begins, and kept in a file of mode 0600.
type Secrets struct {
	// Key encrypts credentials in the state.
	Key []byte `json:"key"`
	// Control opens the control calls.
	Control   string             `json:"control"`
	Passwords identity.Passwords `json:"passwords"`
}

// loadSecrets reads the secrets, and makes them in a new folder.
func loadSecrets(path string) (Secrets, error) {
	s, err := readSecrets(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	s.Key = make([]byte, 32)
	rand.Read(s.Key)
	s.Control, s.Passwords = rand.Text(), identity.Passwords{Admin: rand.Text(), Demo: rand.Text()}
	text, err := json.Marshal(s)
	if err != nil {
		return s, fmt.Errorf("encoding secrets: %w", err)
	}
	return s, replaceFile(path, text)
}

func readSecrets(path string) (s Secrets, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return s, fmt.Errorf("reading secrets: %w", err)
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("reading secrets in %s: %w", path, err)
	}
	return s, nil
}

// replaceFile writes a file of mode 0600 so that no reader sees half of it.
func replaceFile(path string, text []byte) error {
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// writeCloudsYAML writes the file that OpenStack's clients read.
func writeCloudsYAML(path, url string, passwords identity.Passwords) error {
	entry := func(user, password, project string) map[string]any {
		return map[string]any{
			"auth": map[string]any{"auth_url": url + "/identity", "username": user, "password": password, "project_name": project,
				"user_domain_id": identity.DefaultDomain, "project_domain_id": identity.DefaultDomain},
			"region_name": Region, "identity_api_version": "3", "interface": "public",
		}
	}
	text, err := yaml.Marshal(map[string]any{"clouds": map[string]any{
		"sandbox":       entry("demo", passwords.Demo, "demo"),
		"sandbox-admin": entry("admin", passwords.Admin, "admin"),
	}})
	if err != nil {
		return fmt.Errorf("encoding %s: %w", path, err)
	}
	return replaceFile(path, text)
}
