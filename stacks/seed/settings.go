// Package seed renders the files and the user data of the seed, the server that runs
// Cluster API first. The package is pure: it contacts no cloud and no machine.
package seed

import "net/netip"

// Settings are the input of the user data.
type Settings struct {
	// Name is the host name and the name of the Kubernetes node. It must not change
	// when the server is replaced.
	Name string
	// Addresses and names at which clients reach the Kubernetes API; its certificate
	// contains them.
	Access []string
	// AuthorizedKeys may log in as the image's user, in addition to Nova's key pair.
	AuthorizedKeys []string
	// HostKey is the server's host key; with it even the first login is verified.
	HostKey HostKey
	// K3sDigest is the SHA-256 of the program, in hexadecimal.
	K3sDigest string
	// DataVolumeID is the volume that is mounted at DataDir.
	DataVolumeID string
	PodCIDR      netip.Prefix
	ServiceCIDR  netip.Prefix
	// K3s are additional settings of the k3s server, named as in its configuration
	// file. They do not override those that are set here.
	K3s map[string]any
	// Authorities are PEM certificates that the machine trusts.
	Authorities []string
	Proxy       *Proxy
	Registries  map[string]Registry
}

// DataDir is where k3s keeps all its data (row F16).
const DataDir = "/var/lib/rancher/k3s"

// HostKey is an SSH host key: the private part in OpenSSH's PEM format, the public part as
// a line of authorized_keys.
type HostKey struct{ Private, Public string }

// Proxy is the proxy for outgoing HTTP; an empty URL means none.
type Proxy struct {
	HTTP, HTTPS string
	// Bypass are hosts, domains and CIDRs that are reached without the proxy.
	Bypass []string
}

// Registry is how the images of one registry are fetched.
type Registry struct {
	Mirrors            []string
	Rewrite            map[string]string
	Authority          string // PEM
	Username, Password string
}

// File is a file of the seed.
type File struct {
	Path    string
	Mode    string // octal, as in cloud-init
	Content string
	// Restarts says that k3s reads the file only when it starts.
	Restarts bool
	// OfImage says that the file belongs to the image that the server was created
	// from, and must only change with it.
	OfImage bool
}
