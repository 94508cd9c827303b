package target

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"strings"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// Access is how other programs log in to the seed. It contains no secret.
type Access struct {
	// Address is a host name or IP address; the port is 22.
	Address string `json:"address"`
	User    string `json:"user"`
	// HostKey is the seed's public key as a line of authorized_keys, without comment.
	HostKey string `json:"hostKey"`
	// IdentityFile is the path of the private key, which the environment's own clusters
	// accept too; empty if it is not on this machine.
	IdentityFile string `json:"identityFile,omitempty"`
}

// Access returns how to log in to the seed; nil while it has no address.
func (s *Seed) Access(loaded *config.Loaded) *Access {
	if s.Address == "" || s.hostKey == "" {
		return nil
	}
	words := strings.Fields(s.hostKey)
	a := &Access{Address: s.Address, User: s.user, HostKey: strings.Join(words[:min(2, len(words))], " ")}
	path := string(loaded.Environment.Spec.Seed.SSH.IdentityFile)
	if s.keyName != "" {
		path = openstack.KeyFile(keys(loaded), s.keyName)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		a.IdentityFile = path
	}
	return a
}

// Endpoint checks and returns a host and a port such as "10.0.0.5:22".
func Endpoint(text string) (string, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" || port == "" {
		return "", errors.New("it is not a host and a port")
	}
	return net.JoinHostPort(host, port), nil
}
