// Package ansible tests the collection in the folder ansible with Debian's ansible-core,
// the real program and a sandbox without machines.
package ansible
