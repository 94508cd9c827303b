package target

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"golang.org/x/crypto/ssh"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/remote"
)

// loginTime is how long a machine may take to answer the seed: packets that its security
// group drops are waited for by TCP for two minutes.
const loginTime = 20 * time.Second

// Node logs in to a machine of the management cluster through a connection to the seed. Its
// host key is hostKey, a line of authorized_keys; if that is empty, what cloud-init wrote on
// the machine's console, which the cloud shows to its project.
func (s *Seed) Node(ctx context.Context, c *cloud.Cloud, through *remote.Machine, serverID, hostKey string) (*remote.Machine, error) {
	compute, err := c.Compute()
	if err != nil {
		return nil, err
	}
	server, err := servers.Get(ctx, compute, serverID).Extract()
	if err != nil {
		return nil, c.Fault("server "+serverID, err)
	}
	addresses := fixedAddresses(server.Addresses)
	if len(addresses) == 0 {
		return nil, fault.New("server "+server.Name, errors.New("the cloud knows no address of it"), "see its ports with openstack port list --server "+server.ID)
	}
	if hostKey == "" {
		text, err := servers.ShowConsoleOutput(ctx, compute, server.ID, servers.ShowConsoleOutputOpts{}).Extract()
		if err != nil {
			return nil, c.Fault("console of server "+server.Name, err)
		}
		if hostKey = hostKeyIn(text); hostKey == "" {
			return nil, fault.Usage("server "+server.Name, errors.New("its SSH host key is not known: its console no longer has what cloud-init wrote there"),
				"read /etc/ssh/ssh_host_ed25519_key.pub on the machine's console, and give the line with --host-key")
		}
	}
	m, err := firstOf(ctx, addresses, func(ctx context.Context, address string) (*remote.Machine, error) {
		return remote.Open(ctx, remote.Target{Address: net.JoinHostPort(address, "22"), User: s.user, HostKey: hostKey, Key: s.privateKey, Dial: through.DialContext})
	})
	if err != nil {
		return nil, fault.New("server "+server.Name, err, "see its console with openstack console log show "+server.ID+", and that its security group lets the seed reach port 22")
	}
	return m, nil
}

// firstOf is the first address that answers: of several networks the seed may reach one only.
func firstOf[T any](ctx context.Context, addresses []string, open func(context.Context, string) (T, error)) (found T, err error) {
	var failed []error
	for _, address := range addresses {
		trying, cancel := context.WithTimeoutCause(ctx, loginTime, fmt.Errorf("it did not answer for %s", loginTime))
		found, err = open(trying, address)
		cancel()
		if err == nil {
			return found, nil
		}
		if failed = append(failed, err); ctx.Err() != nil {
			break
		}
	}
	return found, errors.Join(failed...)
}

// hostKeyIn is the last host key on a console, Ed25519 before others; "" is none.
func hostKeyIn(console string) string {
	_, block, ok := cutLast(console, "-----BEGIN SSH HOST KEY KEYS-----")
	block, _, ends := strings.Cut(block, "-----END SSH HOST KEY KEYS-----")
	if !ok || !ends {
		return ""
	}
	found := ""
	for line := range strings.Lines(block) {
		line = strings.TrimSpace(line)
		if _, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line)); err != nil {
			continue
		}
		if strings.HasPrefix(line, ssh.KeyAlgoED25519+" ") {
			return line
		}
		if found == "" {
			found = line
		}
	}
	return found
}

func cutLast(text, mark string) (before, after string, found bool) {
	at := strings.LastIndex(text, mark)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(mark):], true
}

// fixedAddresses are those of a server, by the names of its networks, IPv4 before IPv6.
func fixedAddresses(networks map[string]any) []string {
	var all, other []string
	for _, name := range slices.Sorted(maps.Keys(networks)) {
		ports, _ := networks[name].([]any)
		for _, one := range ports {
			port, _ := one.(map[string]any)
			address, _ := port["addr"].(string)
			if kind := port["OS-EXT-IPS:type"]; kind != nil && kind != "fixed" {
				continue
			}
			if ip := net.ParseIP(address); ip == nil {
				continue
			} else if ip.To4() != nil {
				all = append(all, address)
			} else {
				other = append(other, address)
			}
		}
	}
	return append(all, other...)
}
