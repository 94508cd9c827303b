package bundletest

import (
	"bytes"
	"testing"

	"aead.dev/minisign"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/artifact"
)

// PutFile records content as a program of that name.
func PutFile(t *testing.T, folder *bundle.Folder, name string, content []byte) bundle.Item {
	t.Helper()
	digest, err := folder.Put(t.Context(), bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	item := bundle.Item{Name: name, Kind: bundle.Binary, Version: "v1", License: "Apache-2.0", Source: "test", SHA256: digest.SHA256, Size: digest.Size, Path: "bin/" + name}
	if err := folder.Record(item); err != nil {
		t.Fatal(err)
	}
	return item
}

// Key makes a key, and returns its public part and the text of its secret.
func Key(t *testing.T) (public string, secret []byte) {
	t.Helper()
	key, private, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	secret, err = private.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	return key.String(), secret
}

// Sign signs a bundle with a new key and returns its public part.
func Sign(t *testing.T, folder *bundle.Folder) string {
	t.Helper()
	public, secret := Key(t)
	if err := artifact.Sign(folder, secret, "", "test"); err != nil {
		t.Fatal(err)
	}
	return public
}
