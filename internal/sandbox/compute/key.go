package compute

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"math/big"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
)

// generateKey creates an RSA key pair, as Nova does. The public key is one line for SSH, or a
// certificate for x509.
func generateKey(kind string) (public, private string, err error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return "", "", err
	}
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	private = string(pem.EncodeToMemory(block))
	if kind == "x509" {
		public, err = certificate(key)
		return public, private, err
	}
	line, err := ssh.NewPublicKey(&key.PublicKey)
	if err != nil {
		return "", "", err
	}
	public = strings.TrimSpace(string(ssh.MarshalAuthorizedKey(line))) + " Generated-by-Nova\n"
	return public, private, nil
}

func certificate(key *rsa.PrivateKey) (string, error) {
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "nova"},
		NotAfter: time.Now().AddDate(10, 0, 0), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return "", err
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})), nil
}

// fingerprint returns the MD5 of an SSH key and the SHA-1 of a certificate, with colons.
func fingerprint(kind, public string) (string, error) {
	invalid := api.BadRequest("Keypair data is invalid: failed to generate fingerprint")
	if kind == "x509" {
		block, _ := pem.Decode([]byte(public))
		if block == nil || block.Type != "CERTIFICATE" {
			return "", invalid
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return "", invalid
		}
		sum := sha1.Sum(block.Bytes)
		pairs := make([]string, 0, len(sum))
		for _, b := range sum {
			pairs = append(pairs, hex.EncodeToString([]byte{b}))
		}
		return strings.Join(pairs, ":"), nil
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(public))
	if err != nil {
		return "", invalid
	}
	return ssh.FingerprintLegacyMD5(key), nil
}
