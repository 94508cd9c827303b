// Package hashivault replaces the driver for secrets in HashiCorp Vault, which Pulumi imports. The
// secrets in Slipway's states are always encrypted with a passphrase.
package hashivault
