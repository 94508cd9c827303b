// Package certstore reads what Magnum keeps certificates in besides its
// database: a folder of files, or Barbican.
package certstore

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/keymanager/v1/containers"
	"github.com/gophercloud/gophercloud/v2/openstack/keymanager/v1/secrets"
	"github.com/youmark/pkcs8"

	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Open returns the certificate, and the key without its passphrase.
func Open(pair database.KeyPair) (certificate, key []byte, err error) {
	block, _ := pem.Decode([]byte(pair.PrivateKey))
	switch {
	case block == nil:
		return nil, nil, errors.New("its private key is missing or is not PEM")
	case block.Type == "ENCRYPTED PRIVATE KEY":
		parsed, err := pkcs8.ParsePKCS8PrivateKey(block.Bytes, []byte(pair.Passphrase))
		if err != nil {
			return nil, nil, errors.New("its private key cannot be opened with its passphrase")
		}
		der, err := x509.MarshalPKCS8PrivateKey(parsed)
		if err != nil {
			return nil, nil, fmt.Errorf("writing its private key: %w", err)
		}
		return []byte(pair.Certificate), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
	case strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED"):
		return nil, nil, errors.New("its private key has the encryption of OpenSSL before 1.0, which is not read")
	}
	return []byte(pair.Certificate), []byte(pair.PrivateKey), nil
}

// Folder is Magnum's store "local": files named by references.
type Folder string

// reference is a UUID; other names would lead out of the folder.
var reference = regexp.MustCompile(`^[0-9a-f-]{36}$`)

// Pair reads the files of a reference.
func (f Folder) Pair(_ context.Context, ref string) (database.KeyPair, error) {
	if !reference.MatchString(ref) {
		return database.KeyPair{}, fault.New("certificate "+ref, errors.New("it is no name of a file: the certificate store is another one"), "name the store with --certificates")
	}
	read := func(end string) (string, error) {
		text, err := os.ReadFile(filepath.Join(string(f), ref+end))
		return string(text), err
	}
	certificate, err := read(".crt")
	key, keyErr := read(".key")
	if err := errors.Join(err, keyErr); err != nil {
		return database.KeyPair{}, fault.New("certificate "+ref, err, "copy the whole folder of [certificates] storage_path from every host of a conductor")
	}
	passphrase, err := read(".pass")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return database.KeyPair{}, fault.New("certificate "+ref, err, "let this user read it")
	}
	return database.KeyPair{Certificate: certificate, PrivateKey: key, Passphrase: passphrase}, nil
}

// Barbican is Magnum's store "barbican": containers of secrets.
type Barbican struct{ Client *gophercloud.ServiceClient }

// payload is a secret in the type that it was stored in: text, or bytes by older
// releases.
func (b Barbican) payload(ctx context.Context, id string) ([]byte, error) {
	metadata, err := secrets.Get(ctx, b.Client, id).Extract()
	if err != nil {
		return nil, err
	}
	return secrets.GetPayload(ctx, b.Client, id, secrets.GetPayloadOpts{PayloadContentType: cmp.Or(metadata.ContentTypes["default"], "text/plain")}).Extract()
}

const notReadable = "use a login that may read the secrets of Magnum's users: an administrator with the role that Barbican's policy asks for"

// Pair reads a container's secrets. A reference is the container's address.
func (b Barbican) Pair(ctx context.Context, ref string) (database.KeyPair, error) {
	id := ref[strings.LastIndexByte(ref, '/')+1:]
	container, err := containers.Get(ctx, b.Client, id).Extract()
	if err != nil {
		return database.KeyPair{}, fault.New("container "+id+" of Barbican", err, notReadable)
	}
	values := map[string]string{}
	for _, s := range container.SecretRefs {
		secret := s.SecretRef[strings.LastIndexByte(s.SecretRef, '/')+1:]
		payload, err := b.payload(ctx, secret)
		if err != nil {
			return database.KeyPair{}, fault.New("secret "+secret+" of Barbican", err, notReadable)
		}
		values[s.Name] = string(payload)
	}
	return database.KeyPair{Certificate: values["certificate"], PrivateKey: values["private_key"], Passphrase: values["private_key_passphrase"]}, nil
}
