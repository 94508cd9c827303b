package csar

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// reader prints, as JSON, what a script imports, after it was read with the oldest grammar.
const reader = `import ast, json, sys
tree = ast.parse(sys.stdin.read(), feature_version=(3, 10))
names = set()
for node in ast.walk(tree):
    if isinstance(node, ast.Import):
        names |= {alias.name for alias in node.names}
    elif isinstance(node, ast.ImportFrom):
        names.add(node.module)
print(json.dumps(sorted(names)))
`

// library are the modules of the standard library that the scripts may have. All are in
// Python 3.10 to 3.13: none is of those that PEP 594 and PEP 632 took away.
func library() []string {
	return []string{"base64", "http.client", "json", "os", "pickle", "re", "ssl", "sys", "tempfile", "time", "urllib.error", "urllib.parse", "urllib.request"}
}

// TestGrammarOfTheShim reads the scripts with the grammar of Python 3.10, and holds what
// they import against the modules that all versions have.
//
// proves: T-15
func TestGrammarOfTheShim(t *testing.T) {
	t.Parallel()
	entries, err := scriptFiles.ReadDir("scripts")
	if err != nil || len(entries) == 0 {
		t.Fatalf("%d scripts, %v", len(entries), err)
	}
	ours := []string{"slipway_kube", "slipway_credentials"}
	for version, python := range interpreters(t) {
		for _, entry := range entries {
			text, err := scriptFiles.ReadFile("scripts/" + entry.Name())
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), python, "-I", "-W", "error", "-c", reader)
			cmd.Stdin = bytes.NewReader(text)
			said, err := cmd.Output()
			if err != nil {
				t.Errorf("%s: Python %s does not read it: %v", entry.Name(), version, err)
				continue
			}
			var names []string
			if err := json.Unmarshal(said, &names); err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				if !slices.Contains(library(), name) && !slices.Contains(ours, name) {
					t.Errorf("%s imports %s", entry.Name(), name)
				}
			}
		}
	}
}

// clientPair is a client's certificate and its key, with an empty line between them.
func clientPair(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "admin"}, NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})) + "\n" + string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}
