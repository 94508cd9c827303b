// Package lostcredential tests what becomes of a cluster of the Magnum API whose credential is
// lost: with the API, its controllers, a real Kubernetes API server and the sandbox's Keystone.
package lostcredential
