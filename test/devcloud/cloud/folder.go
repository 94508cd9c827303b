// Package cloud runs an OpenStack of Debian's packages in namespaces of its own:
// every API, the scheduler and the databases are real; no packet is forwarded,
// no guest boots and no volume has bytes.
package cloud

import (
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Cloud is the OpenStack of one folder, whether it runs or not.
//
//	image/     Debian and the packages; made once
//	prepared/  on top of that: configuration and empty databases; made once
//	pycache/   compiled Python modules, kept between runs
//	run/       what a run changed; ends with it
//	logs/      of the last run
//	clouds.yaml, password   mode 0600
type Cloud struct {
	dir string
	// Mirror is Debian's archive; empty means deb.debian.org.
	Mirror string
	// Machines gives the cloud a hypervisor that boots guests, a network that
	// forwards packets, and volumes with bytes.
	Machines bool
	// Horizon adds OpenStack's dashboard with its panels for Magnum, and Heat, which they ask.
	Horizon bool
	// Tacker is a folder with Tacker, which Debian does not package; empty means none.
	Tacker string
	// Clusters gives Magnum its driver for Cluster API, magnum-capi-helm, and adds OpenStack's client.
	Clusters bool
	// Tell receives what is done.
	Tell func(format string, args ...any)
}

// New is the cloud of a folder.
func New(dir string) (*Cloud, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("finding the devcloud's folder: %w", err)
	}
	return &Cloud{dir: absolute, Tell: func(string, ...any) {}}, nil
}

func (c *Cloud) path(names ...string) string {
	return filepath.Join(append([]string{c.dir}, names...)...)
}

// CloudsYAML is the path of the file for OpenStack's clients, with the clouds
// devcloud (a member) and devcloud-admin.
func (c *Cloud) CloudsYAML() string { return c.path("clouds.yaml") }

// network is the prefix of four addresses that joins host and cloud, taken by
// the folder's name from those that are for benchmarks of networks (RFC 2544):
// two checkouts get in each other's way only by accident, and are told so.
func (c *Cloud) network() netip.Prefix {
	hash := fnv.New32a()
	hash.Write([]byte(c.dir)) //nolint:errcheck // it never fails
	block := hash.Sum32() % (1 << 14)
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, byte(block >> 6), byte(block<<2) & 0xfc}), 30)
}

// external is the prefix of the network public, which the host reaches by the
// cloud: nothing answers there but that nothing listens.
func (c *Cloud) external() netip.Prefix {
	four := c.network().Addr().As4()
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 19, four[2] ^ four[1]<<7, 0}), 24)
}

// HostAddress is where the cloud reaches the host.
func (c *Cloud) HostAddress() netip.Addr { return c.network().Addr().Next() }

// Address is where the host reaches the cloud's services.
func (c *Cloud) Address() netip.Addr { return c.HostAddress().Next() }

// link is the name of the host's end of the way in.
func (c *Cloud) link() string {
	four := c.network().Addr().As4()
	return fmt.Sprintf("devcloud-%02x%02x%02x", four[1], four[2], four[3])
}

// secret is the one password of the cloud, made with its folder.
func (c *Cloud) secret() (string, error) {
	text, err := os.ReadFile(c.path("password"))
	if err == nil {
		return strings.TrimSpace(string(text)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("reading the devcloud's password: %w", err)
	}
	word := rand.Text()
	if err := os.WriteFile(c.path("password"), []byte(word+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("writing the devcloud's password: %w", err)
	}
	return word, nil
}

// claim makes this process the only one that starts, prepares or ends the cloud.
func (c *Cloud) claim() (release func() error, err error) {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the devcloud's folder: %w", err)
	}
	file, err := os.OpenFile(c.path("lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("claiming the devcloud's folder: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("claiming the devcloud's folder: %w", err), file.Close())
	}
	return file.Close, nil
}
