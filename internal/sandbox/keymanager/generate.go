package keymanager

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
)

// part is a secret that an order made, with its name in a container.
type part struct {
	name   string
	record model.Secret
}

func readMeta(raw map[string]any) (orderMeta, error) {
	var meta orderMeta
	text, err := json.Marshal(raw)
	if err == nil {
		err = json.Unmarshal(text, &meta)
	}
	switch {
	case err != nil:
		return meta, mismatch("Order", "meta", "%v", err)
	case meta.Algorithm == "":
		return meta, mismatch("Order", "meta", "'algorithm' is required field for order")
	case meta.BitLength < 8 || meta.BitLength%8 != 0:
		return meta, mismatch("Order", "meta", "'bit_length' is not a positive multiple of 8")
	case meta.ContentType != nil && *meta.ContentType != octets:
		return meta, mismatch("Order", "meta", "payload_content_type %s is not supported", *meta.ContentType)
	}
	return meta, nil
}

// make generates what an order asks for.
func (s *service) make(c *api.Call, kind string, meta orderMeta) ([]part, error) {
	if kind == "asymmetric" {
		return s.makePair(c, meta)
	}
	lengths := map[string][]int{"aes": {128, 192, 256}, "des": {64}, "3des": {128, 192, 64}, "desede": {128, 192, 64}}
	allowed, known := lengths[strings.ToLower(meta.Algorithm)]
	hmac := strings.HasPrefix(strings.ToLower(meta.Algorithm), "hmac")
	if !hmac && (!known || !slices.Contains(allowed, meta.BitLength)) || meta.BitLength > 8*maxPayload {
		return nil, api.BadRequest("Algorithm %s with bit length %d is not supported.", meta.Algorithm, meta.BitLength)
	}
	key := make([]byte, meta.BitLength/8)
	rand.Read(key)
	secret, err := s.generated(c, meta, "symmetric", octets, key)
	return []part{{"", secret}}, err
}

func (s *service) makePair(c *api.Call, meta orderMeta) ([]part, error) {
	if strings.ToLower(meta.Algorithm) != "rsa" || !slices.Contains([]int{1024, 2048, 4096}, meta.BitLength) {
		return nil, api.BadRequest("Algorithm %s with bit length %d is not supported.", meta.Algorithm, meta.BitLength)
	}
	if meta.Passphrase != "" {
		return nil, api.BadRequest("Encrypting a private key with a pass phrase is not supported.")
	}
	key, err := rsa.GenerateKey(rand.Reader, meta.BitLength)
	if err != nil {
		return nil, api.BadRequest("Generating a key of %d bits: %v", meta.BitLength, err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil, err
	}
	var parts []part
	for _, half := range []struct {
		name, kind, label string
		der               []byte
	}{
		{"private_key", "private", "PRIVATE KEY", private}, {"public_key", "public", "PUBLIC KEY", public}} {
		secret, err := s.generated(c, meta, half.kind, octets, pem.EncodeToMemory(&pem.Block{Type: half.label, Bytes: half.der}))
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{half.name, secret})
	}
	return parts, nil
}

func (s *service) generated(c *api.Call, meta orderMeta, kind, contentType string, payload []byte) (model.Secret, error) {
	v := model.Secret{KeyMeta: s.newMeta(c, meta.Name), Algorithm: &meta.Algorithm, BitLength: &meta.BitLength, Mode: meta.Mode, Type: kind}
	if err := s.expire(&v, meta.Expiration); err != nil {
		return v, err
	}
	return v, s.fill(&v, contentType, payload)
}
