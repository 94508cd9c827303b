// Package machinetest is what the tests of drivers with real machines share: a host's
// network namespace of their own, networks, an image of a bundle, and SSH.
package machinetest

import (
	"crypto/ed25519"
	"crypto/rand"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/namespace"
)

// The ids of the networks that Networks makes.
const (
	Network = "77777777-0000-4000-8000-000000000001"
	Outside = "88888888-0000-4000-8000-000000000001"
)

// Fetch is the command that asks the metadata service for a path, put in by fmt.
const Fetch = "python3 -c 'import urllib.request as u; print(u.urlopen(\"http://169.254.169.254/%s\").read().decode())'"

// World is a host for machines.
type World struct {
	*testing.T
	// Dir is temporary; HostSpace counts as the host's network namespace.
	Dir, HostSpace string
	// Bundle is the folder of a bundle.
	Bundle string
	// Key is the public key that lets in.
	Key    string
	signer ssh.Signer
}

// New skips where machines cannot be had: SLIPWAY_BUNDLE is the folder of a bundle.
func New(t *testing.T) *World {
	t.Helper()
	bundle := os.Getenv("SLIPWAY_BUNDLE")
	if os.Geteuid() != 0 {
		t.Skip("machines need root")
	}
	if bundle == "" {
		t.Skip("SLIPWAY_BUNDLE is not set: there is no image to boot")
	}
	w := &World{T: t, Dir: t.TempDir(), Bundle: bundle}
	w.HostSpace = filepath.Join(w.Dir, "host-space")
	if err := namespace.Create(w.HostSpace); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = namespace.Delete(w.HostSpace) })
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if w.signer, err = ssh.NewSignerFromKey(private); err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	w.Key = string(ssh.MarshalAuthorizedKey(key))
	return w
}

// Networks makes an external network, one behind a router, and the floating IPs
// 172.24.4.10 and 172.24.4.11 of the addresses 10.0.0.10 and 10.0.0.11.
func (w *World) Networks(f machine.Fabric) error {
	subnet := func(p, gw string) []machine.Subnet {
		return []machine.Subnet{{Prefix: netip.MustParsePrefix(p), Gateway: netip.MustParseAddr(gw)}}
	}
	ctx := w.Context()
	if err := f.ApplyNetwork(ctx, machine.Network{ID: Outside, MTU: 1500, External: true, Subnets: subnet("172.24.4.0/24", "172.24.4.1")}); err != nil {
		return err
	}
	if err := f.ApplyNetwork(ctx, machine.Network{ID: Network, MTU: 1450, Subnets: subnet("10.0.0.0/24", "10.0.0.1")}); err != nil {
		return err
	}
	gateway := Port("gggggggg-ggg", Outside, "fa:16:3e:00:01:03", "172.24.4.5/24", "172.24.4.1")
	return f.ApplyRouter(ctx, machine.Router{ID: "r", SNAT: true, Gateway: &gateway,
		Interfaces: []machine.Port{Port("rrrrrrrr-rrr", Network, "fa:16:3e:00:01:01", "10.0.0.1/24", "")},
		Translations: []machine.Translation{
			{Floating: netip.MustParseAddr("172.24.4.10"), Fixed: netip.MustParseAddr("10.0.0.10")},
			{Floating: netip.MustParseAddr("172.24.4.11"), Fixed: netip.MustParseAddr("10.0.0.11")}}})
}

// Port is a card with one address.
func Port(id, network, mac, addr, gateway string) machine.Port {
	a := machine.Address{Prefix: netip.MustParsePrefix(addr), Nameservers: []netip.Addr{netip.MustParseAddr("192.0.2.53")}}
	if gateway != "" {
		a.Gateway = netip.MustParseAddr(gateway)
	}
	return machine.Port{ID: id, NetworkID: network, MAC: mac, MTU: 1450, Addresses: []machine.Address{a}}
}

// Spec is a machine of the node image, whose user data write a file.
func (w *World) Spec(id, name, mac, addr string, drive bool) machine.Spec {
	return machine.Spec{ID: id, Name: name, ProjectID: "p", VCPUs: 1, MemoryMiB: 1024, DiskGiB: 10,
		Image: filepath.Join(w.Bundle, "machines/node.raw"), ConfigDrive: drive,
		Ports: []machine.Port{Port(id[:8]+"-000", Network, mac, addr, "10.0.0.1")},
		Metadata: machine.Metadata{Hostname: name, PublicKeys: map[string]string{"test": w.Key}, AvailabilityZone: "nova",
			UserData: []byte("#cloud-config\nwrite_files: [{path: /root/said, content: hello}]\n")}}
}

// Login tries until the machine lets in, for at most the time.
func (w *World) Login(addr string, patience time.Duration) (client *ssh.Client, err error) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		var conn net.Conn
		err = namespace.Do(w.HostSpace, func() (err error) {
			conn, err = (&net.Dialer{Timeout: time.Second}).Dial("tcp", addr)
			return err
		})
		if err != nil {
			continue
		}
		config := &ssh.ClientConfig{User: "debian", Auth: []ssh.AuthMethod{ssh.PublicKeys(w.signer)},
			HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: 5 * time.Second} //nolint:gosec // a new machine
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		c, chans, reqs, failed := ssh.NewClientConn(conn, addr, config)
		if err = failed; err != nil {
			conn.Close()
			continue
		}
		_ = conn.SetDeadline(time.Time{})
		client = ssh.NewClient(c, chans, reqs)
		w.Cleanup(func() { client.Close() })
		return client, nil
	}
	return nil, err
}

// Sh runs a command in a machine and returns what it writes.
func (w *World) Sh(client *ssh.Client, command string) string {
	w.Helper()
	session, err := client.NewSession()
	if err != nil {
		w.Fatal(err)
	}
	defer session.Close()
	out, err := session.CombinedOutput(command)
	if err != nil {
		w.Fatalf("%s: %v: %s", command, err, out)
	}
	return strings.TrimSpace(string(out))
}

// Runs checks what commands say in a machine.
func (w *World) Runs(client *ssh.Client, want map[string]string) {
	w.Helper()
	for command, want := range want {
		if got := w.Sh(client, command); got != want {
			w.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}
