// Package seed says what the seed is told: the files and the user data of the
// server on which Cluster API runs first. All of it is pure; nothing here
// reaches a cloud or a machine.
package seed

import "net/netip"

// Settings are what the user data is made of.
type Settings struct {
	// Name is the host name and the name of the Kubernetes node. It must stay
	// when the server is replaced.
	Name string
	// Addresses and names at which clients reach the Kubernetes API; they are
	// in its certificate.
	Access []string
	// AuthorizedKeys may log in as the image's user, beside Nova's key pair.
	AuthorizedKeys []string
	// HostKey is the server's own; with it the first login is as sure as all others.
	HostKey HostKey
	// K3sDigest is the SHA-256 of the program, in hexadecimal.
	K3sDigest string
	// DataVolumeID is the volume that is mounted at DataDir.
	DataVolumeID string
	PodCIDR      netip.Prefix
	ServiceCIDR  netip.Prefix
	// K3s are further settings of the k3s server, by the names of its
	// configuration file. They do not override those that are set here.
	K3s map[string]any
	// Authorities are PEM certificates that the machine trusts.
	Authorities []string
	Proxy       *Proxy
	Registries  map[string]Registry
}

// DataDir is where k3s keeps everything (row F16).
const DataDir = "/var/lib/rancher/k3s"

// HostKey is an SSH host key: the private part as OpenSSH's PEM, the public one
// as a line of authorized_keys.
type HostKey struct{ Private, Public string }

// Proxy is what outgoing HTTP goes through; an empty URL is none.
type Proxy struct {
	HTTP, HTTPS string
	// Bypass are hosts, domains and CIDRs that are reached directly.
	Bypass []string
}

// Registry is how images of one registry are fetched.
type Registry struct {
	Mirrors            []string
	Rewrite            map[string]string
	Authority          string // PEM
	Username, Password string
}

// File is a file of the seed.
type File struct {
	Path    string
	Mode    string // octal, as cloud-init wants it
	Content string
	// Restarts says that k3s reads the file at its start only.
	Restarts bool
	// OfImage says that the file belongs to the image that the server was made
	// with, and must not change without it.
	OfImage bool
}
