// Package types has the faults that the driver of secrets declares; see package kms.
package types

// NotFoundException does not occur.
type NotFoundException struct{}

// ErrorCode is its name.
func (*NotFoundException) ErrorCode() string { return "NotFoundException" }

// InvalidCiphertextException does not occur.
type InvalidCiphertextException struct{}

// ErrorCode is its name.
func (*InvalidCiphertextException) ErrorCode() string { return "InvalidCiphertextException" }

// InvalidKeyUsageException does not occur.
type InvalidKeyUsageException struct{}

// ErrorCode is its name.
func (*InvalidKeyUsageException) ErrorCode() string { return "InvalidKeyUsageException" }

// KMSInternalException does not occur.
type KMSInternalException struct{}

// ErrorCode is its name.
func (*KMSInternalException) ErrorCode() string { return "KMSInternalException" }

// KMSInvalidStateException does not occur.
type KMSInvalidStateException struct{}

// ErrorCode is its name.
func (*KMSInvalidStateException) ErrorCode() string { return "KMSInvalidStateException" }

// DisabledException does not occur.
type DisabledException struct{}

// ErrorCode is its name.
func (*DisabledException) ErrorCode() string { return "DisabledException" }

// InvalidGrantTokenException does not occur.
type InvalidGrantTokenException struct{}

// ErrorCode is its name.
func (*InvalidGrantTokenException) ErrorCode() string { return "InvalidGrantTokenException" }

// KeyUnavailableException does not occur.
type KeyUnavailableException struct{}

// ErrorCode is its name.
func (*KeyUnavailableException) ErrorCode() string { return "KeyUnavailableException" }

// DependencyTimeoutException does not occur.
type DependencyTimeoutException struct{}

// ErrorCode is its name.
func (*DependencyTimeoutException) ErrorCode() string { return "DependencyTimeoutException" }
