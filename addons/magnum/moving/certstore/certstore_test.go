package certstore

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/keymanager/v1/containers"
	"github.com/gophercloud/gophercloud/v2/openstack/keymanager/v1/secrets"

	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

const ref = "5a1b1f4f-6a2f-4c10-8000-000000000001"

// made is an authority as Magnum's own functions make and encrypt it.
func made(t *testing.T) database.KeyPair {
	t.Helper()
	file := filepath.Join("..", "database", "testdata", "mariadb-b3e1cf4a2d5e.sql")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	db, err := database.Parse(file, string(text))
	if err != nil {
		t.Fatal(err)
	}
	return db.KeyPairs[ref]
}

func TestOpen(t *testing.T) {
	t.Parallel()
	pair := made(t)
	if !strings.Contains(pair.PrivateKey, "ENCRYPTED") {
		t.Fatal("Magnum's key is not encrypted")
	}
	certificate, key, err := Open(pair)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tls.X509KeyPair(certificate, key); err != nil {
		t.Error(err)
	}
	block, _ := pem.Decode(key)
	if block.Type != "PRIVATE KEY" {
		t.Errorf("type %s", block.Type)
	}
	plain := database.KeyPair{Certificate: string(certificate), PrivateKey: string(key)}
	if _, again, err := Open(plain); err != nil || string(again) != string(key) {
		t.Errorf("a key without passphrase: %v", err)
	}
	for says, wrong := range map[string]database.KeyPair{
		"cannot be opened":  {Certificate: pair.Certificate, PrivateKey: pair.PrivateKey, Passphrase: "wrong"},
		"missing or is not": {Certificate: pair.Certificate},
		"OpenSSL before":    {PrivateKey: "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: DES-EDE3-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n"},
	} {
		if _, _, err := Open(wrong); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// TestBarbican reads a container as Magnum makes it: text, or bytes by older releases.
func TestBarbican(t *testing.T) {
	t.Parallel()
	pair, barbican := made(t), sandboxtest.Start(t).Admin.KeyManager(t)
	for _, kind := range []string{"text/plain", "application/octet-stream"} {
		var refs []containers.SecretRef
		for name, text := range map[string]string{"certificate": pair.Certificate, "private_key": pair.PrivateKey, "private_key_passphrase": pair.Passphrase} {
			o := secrets.CreateOpts{Name: name, Payload: text, PayloadContentType: kind}
			if kind != "text/plain" {
				o.Payload, o.PayloadContentEncoding = base64.StdEncoding.EncodeToString([]byte(text)), "base64"
			}
			secret, err := secrets.Create(t.Context(), barbican, o).Extract()
			if err != nil {
				t.Fatal(err)
			}
			refs = append(refs, containers.SecretRef{Name: name, SecretRef: secret.SecretRef})
		}
		container, err := containers.Create(t.Context(), barbican, containers.CreateOpts{Type: containers.CertificateContainer, Name: "c", SecretRefs: refs}).Extract()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Barbican{barbican}.Pair(t.Context(), container.ContainerRef)
		if err != nil || got != pair {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if _, err := (Barbican{barbican}).Pair(t.Context(), "https://b/v1/containers/"+ref); err == nil || !strings.Contains(err.Error(), "container "+ref) {
		t.Errorf("a container that is not there: %v", err)
	}
}

func TestFolder(t *testing.T) {
	t.Parallel()
	pair, dir := made(t), t.TempDir()
	for end, text := range map[string]string{".crt": pair.Certificate, ".key": pair.PrivateKey, ".pass": pair.Passphrase} {
		if err := os.WriteFile(filepath.Join(dir, ref+end), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Folder(dir).Pair(context.Background(), ref)
	if err != nil || got != pair {
		t.Errorf("%v", err)
	}
	for _, wrong := range []string{"../../etc/passwd", "http://barbican/v1/containers/1", strings.Replace(ref, "1", "2", 1)} {
		if _, err := Folder(dir).Pair(context.Background(), wrong); err == nil {
			t.Errorf("%s was read", wrong)
		}
	}
}
