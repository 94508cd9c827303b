// Package kms replaces AWS's client for keys, by which Pulumi would encrypt secrets in states. In
// Slipway's states a passphrase always does. The original has 2.5 MB of calls.
package kms

import (
	"context"
	"errors"
)

// Client encrypts nothing.
type Client struct{}

// NewFromConfig returns a client.
func NewFromConfig(any) *Client { return &Client{} }

// DecryptInput says what would be decrypted.
type DecryptInput struct {
	CiphertextBlob    []byte
	EncryptionContext map[string]string
}

// DecryptOutput has nothing.
type DecryptOutput struct{ Plaintext []byte }

// EncryptInput says what would be encrypted.
type EncryptInput struct {
	KeyId             *string
	Plaintext         []byte
	EncryptionContext map[string]string
}

// EncryptOutput has nothing.
type EncryptOutput struct{ CiphertextBlob []byte }

// Decrypt returns errors.ErrUnsupported.
func (*Client) Decrypt(context.Context, *DecryptInput) (*DecryptOutput, error) {
	return nil, errors.ErrUnsupported
}

// Encrypt returns errors.ErrUnsupported.
func (*Client) Encrypt(context.Context, *EncryptInput) (*EncryptOutput, error) {
	return nil, errors.ErrUnsupported
}
