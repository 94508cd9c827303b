package container_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/container"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/namespace"
)

// cloud is a driver with a host's network namespace of its own.
type cloud struct {
	*testing.T
	*container.Driver
	options container.Options
	bundle  string
	signer  ssh.Signer
	key     string
	before  map[string]bool
}

const (
	serverA = "0a0a0a0a-0000-4000-8000-00000000000a"
	serverB = "0b0b0b0b-0000-4000-8000-00000000000b"
	network = "77777777-0000-4000-8000-000000000001"
	outside = "88888888-0000-4000-8000-000000000001"
)

// newCloud skips where machines cannot be had: SLIPWAY_BUNDLE is the folder of
// a bundle.
func newCloud(t *testing.T) *cloud {
	t.Helper()
	bundle := os.Getenv("SLIPWAY_BUNDLE")
	if os.Geteuid() != 0 {
		t.Skip("machines need root")
	}
	if bundle == "" {
		t.Skip("SLIPWAY_BUNDLE is not set: there is no image to boot")
	}
	dir := t.TempDir()
	host := filepath.Join(dir, "host-space")
	c := &cloud{T: t, bundle: bundle, options: container.Options{
		Dir: filepath.Join(dir, "state"), RunDir: filepath.Join(dir, "run"), HostSpace: host,
		Runc: filepath.Join(bundle, "bin/runc"), Events: event.Discard{}}}
	if err := namespace.Create(host); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = namespace.Delete(host) })
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if c.signer, err = ssh.NewSignerFromKey(private); err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	c.key = string(ssh.MarshalAuthorizedKey(key))
	c.before = snapshot(t)
	c.open()
	t.Cleanup(func() {
		if err := container.Clean(context.WithoutCancel(t.Context()), c.options); err != nil {
			t.Error(err)
		}
	})
	return c
}

func (c *cloud) open() {
	c.Helper()
	var err error
	if c.Driver, err = container.Open(c.options); err != nil {
		c.Fatal(err)
	}
}

func (c *cloud) must(err error) {
	c.Helper()
	if err != nil {
		for _, id := range []string{serverA, serverB} {
			if text, err := c.Console(context.Background(), id, 40); err == nil {
				c.Logf("console of %s:\n%s", id, text)
			}
		}
		c.Fatal(err)
	}
}

func (c *cloud) networks() {
	c.Helper()
	subnet := func(p, gw string) []machine.Subnet {
		return []machine.Subnet{{Prefix: netip.MustParsePrefix(p), Gateway: netip.MustParseAddr(gw)}}
	}
	c.must(c.ApplyNetwork(c.Context(), machine.Network{ID: outside, MTU: 1500, External: true, Subnets: subnet("172.24.4.0/24", "172.24.4.1")}))
	c.must(c.ApplyNetwork(c.Context(), machine.Network{ID: network, MTU: 1450, Subnets: subnet("10.0.0.0/24", "10.0.0.1")}))
	gateway := port("gggggggg-ggg", outside, "fa:16:3e:00:01:03", "172.24.4.5/24", "172.24.4.1")
	c.must(c.ApplyRouter(c.Context(), machine.Router{ID: "r", SNAT: true, Gateway: &gateway,
		Interfaces: []machine.Port{port("rrrrrrrr-rrr", network, "fa:16:3e:00:01:01", "10.0.0.1/24", "")},
		Translations: []machine.Translation{
			{Floating: netip.MustParseAddr("172.24.4.10"), Fixed: netip.MustParseAddr("10.0.0.10")},
			{Floating: netip.MustParseAddr("172.24.4.11"), Fixed: netip.MustParseAddr("10.0.0.11")}}}))
}

func port(id, network, mac, addr, gateway string) machine.Port {
	a := machine.Address{Prefix: netip.MustParsePrefix(addr), Nameservers: []netip.Addr{netip.MustParseAddr("192.0.2.53")}}
	if gateway != "" {
		a.Gateway = netip.MustParseAddr(gateway)
	}
	return machine.Port{ID: id, NetworkID: network, MAC: mac, MTU: 1450, Addresses: []machine.Address{a}}
}

func (c *cloud) spec(id, name, mac, addr string, drive bool) machine.Spec {
	return machine.Spec{ID: id, Name: name, ProjectID: "p", VCPUs: 1, MemoryMiB: 1024, DiskGiB: 10,
		Image: filepath.Join(c.bundle, "machines/node.raw"), ConfigDrive: drive,
		Ports: []machine.Port{port(id[:8]+"-000", network, mac, addr, "10.0.0.1")},
		Metadata: machine.Metadata{Hostname: name, PublicKeys: map[string]string{"test": c.key}, AvailabilityZone: "nova",
			UserData: []byte("#cloud-config\nwrite_files: [{path: /root/said, content: hello}]\n")}}
}

// login tries until the machine lets in.
func (c *cloud) login(addr string) *ssh.Client {
	c.Helper()
	var last error
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		var conn net.Conn
		last = namespace.Do(c.options.HostSpace, func() (err error) {
			conn, err = (&net.Dialer{Timeout: time.Second}).Dial("tcp", addr)
			return err
		})
		if last != nil {
			continue
		}
		config := &ssh.ClientConfig{User: "debian", Auth: []ssh.AuthMethod{ssh.PublicKeys(c.signer)},
			HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: 5 * time.Second} //nolint:gosec // a new machine
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		s, chans, reqs, err := ssh.NewClientConn(conn, addr, config)
		if last = err; err == nil {
			_ = conn.SetDeadline(time.Time{})
			client := ssh.NewClient(s, chans, reqs)
			c.Cleanup(func() { client.Close() })
			return client
		}
		conn.Close()
	}
	c.must(last)
	return nil
}

// sh runs a command in a machine and returns what it writes.
func (c *cloud) sh(client *ssh.Client, command string) string {
	c.Helper()
	session, err := client.NewSession()
	c.must(err)
	defer session.Close()
	out, err := session.CombinedOutput(command)
	if err != nil {
		c.Fatalf("%s: %v: %s", command, err, out)
	}
	return strings.TrimSpace(string(out))
}

// runs checks what commands say in a machine.
func (c *cloud) runs(client *ssh.Client, want map[string]string) {
	c.Helper()
	for command, want := range want {
		if got := c.sh(client, command); got != want {
			c.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

// fetch is curl without curl.
const fetch = "python3 -c 'import urllib.request as u; print(u.urlopen(\"http://169.254.169.254/%s\").read().decode())'"

func TestMachine(t *testing.T) {
	c := newCloud(t)
	c.networks()
	begin := time.Now()
	a := c.spec(serverA, "node-a", "fa:16:3e:00:00:0a", "10.0.0.10/24", true)
	c.must(c.Create(t.Context(), a))
	b := c.spec(serverB, "Node B!", "fa:16:3e:00:00:0b", "10.0.0.11/24", false)
	b.Metadata.Hostname = ""
	c.must(c.Create(t.Context(), b))
	inA, inB := c.login("172.24.4.10:22"), c.login("172.24.4.11:22")
	t.Logf("SSH to both after %v", time.Since(begin))
	c.must(c.Create(t.Context(), a)) // again: as it is
	c.runs(inA, map[string]string{
		"hostname":                                                       "node-a",
		"sudo cat /root/said":                                            "hello",
		"cat /etc/resolv.conf":                                           "nameserver 192.0.2.53",
		"cat /sys/class/net/eth0/mtu":                                    "1450",
		"cat /sys/class/net/eth0/address":                                "fa:16:3e:00:00:0a",
		"systemd-detect-virt || true":                                    "container-other",
		"sudo systemctl --failed --plain --no-legend":                    "",
		"cloud-init query platform":                                      "configdrive",
		fmt.Sprintf(fetch, "latest/meta-data/local-ipv4"):                "10.0.0.10",
		fmt.Sprintf(fetch, "latest/meta-data/public-keys/0/openssh-key"): strings.TrimSpace(c.key),
	})
	c.runs(inB, map[string]string{
		"hostname": "node-b", "sudo cat /root/said": "hello", "cloud-init query platform": "openstack",
		fmt.Sprintf(fetch, "latest/meta-data/local-ipv4"): "10.0.0.11",
	})
	c.limits()
	c.volumes(inA, inB)
	t.Log("volumes", time.Since(begin))
	c.adopted(inA)
	t.Log("adopted", time.Since(begin))
	c.restarted(inB)
	t.Log("restarted", time.Since(begin))
	for range 2 {
		begin = time.Now()
		c.must(c.Delete(t.Context(), serverA))
		t.Log("delete", time.Since(begin))
	}
	if state, err := c.State(t.Context(), serverA); state != machine.Gone || err != nil {
		t.Errorf("state of a deleted machine: %s, %v", state, err)
	}
	begin = time.Now()
	c.must(c.Shutdown(t.Context()))
	t.Log("shutdown of one", time.Since(begin))
	if after := snapshot(t); !maps.Equal(c.before, after) {
		t.Errorf("the host is not as before:\n%v\nbefore:\n%v", after, c.before)
	}
	if _, err := os.Stat(c.options.RunDir); err == nil {
		t.Error("the folder in /run is left")
	}
}

// limits looks at the cgroup of a machine, whichever version the host has.
func (c *cloud) limits() {
	c.Helper()
	paths, _ := filepath.Glob("/sys/fs/cgroup/memory/slipway-*" + serverA + "/memory.limit_in_bytes")
	if len(paths) == 0 {
		paths, _ = filepath.Glob("/sys/fs/cgroup/slipway-*" + serverA + "/memory.max")
	}
	if len(paths) != 1 {
		c.Fatalf("cgroup of the machine: %v", paths)
	}
	limit, err := os.ReadFile(paths[0])
	c.must(err)
	if got := strings.TrimSpace(string(limit)); got != "1073741824" {
		c.Errorf("memory limit %s, want 1 GiB", got)
	}
}

// volumes moves a volume with a file system from one machine to another.
func (c *cloud) volumes(inA, inB *ssh.Client) {
	c.Helper()
	const volume = "01234567-89ab-cdef-0123-456789abcdef"
	ctx := c.Context()
	c.must(c.Volumes().CreateVolume(ctx, machine.Volume{ID: volume, GiB: 1}))
	device, err := c.AttachVolume(ctx, serverA, volume)
	c.must(err)
	if device != "/dev/vdb" {
		c.Errorf("the volume is %s, want /dev/vdb", device)
	}
	c.runs(inA, map[string]string{"readlink -f /dev/disk/by-id/virtio-01234567-89ab-cdef-0": "/dev/vdb",
		"sudo blockdev --getsize64 /dev/vdb": "1073741824"})
	c.sh(inA, "sudo mkfs.ext4 -q /dev/vdb && sudo mount /dev/vdb /mnt && echo kept | sudo tee /mnt/file")
	c.must(c.Volumes().ExtendVolume(ctx, volume, 2))
	c.runs(inA, map[string]string{"sudo blockdev --getsize64 /dev/vdb": "2147483648"})
	if err := c.DetachVolume(ctx, serverA, volume); err == nil {
		c.Error("a mounted volume is detached")
	}
	c.sh(inA, "sudo umount /mnt")
	c.must(c.DetachVolume(ctx, serverA, volume))
	c.must(c.DetachVolume(ctx, serverA, volume))
	c.runs(inA, map[string]string{"ls /dev/vdb /dev/disk/by-id/* 2>/dev/null || echo gone": "gone"})
	_, err = c.AttachVolume(ctx, serverB, volume)
	c.must(err)
	c.runs(inB, map[string]string{"sudo mount /dev/vdb /mnt && cat /mnt/file; sudo umount /mnt": "kept"})
}

// adopted forgets everything that the process knew, as after kill -9.
func (c *cloud) adopted(inA *ssh.Client) {
	c.Helper()
	c.must(c.Close())
	c.open()
	c.networks()
	if state, err := c.State(c.Context(), serverA); state != machine.Running || err != nil {
		c.Errorf("state after a restart of the process: %s, %v", state, err)
	}
	c.runs(inA, map[string]string{
		fmt.Sprintf(fetch, "latest/meta-data/local-ipv4"): "10.0.0.10",
		"echo said-later | sudo tee /dev/console":         "said-later",
	})
	for range 50 {
		text, err := c.Console(c.Context(), serverA, 0)
		c.must(err)
		if strings.Contains(text, "Welcome to Debian") && strings.Contains(text, "said-later") {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	c.Error("the console is not kept while the process is gone")
}

// restarted stops and starts a machine, then everything.
func (c *cloud) restarted(inB *ssh.Client) {
	c.Helper()
	ctx := c.Context()
	c.sh(inB, "echo disk > left && sync")
	begin := time.Now()
	c.must(c.Stop(ctx, serverB))
	c.Log("stop", time.Since(begin))
	if state, err := c.State(ctx, serverB); state != machine.Stopped || err != nil {
		c.Errorf("state after stop: %s, %v", state, err)
	}
	c.must(c.Start(ctx, serverB))
	c.runs(c.login("172.24.4.11:22"), map[string]string{"cat left": "disk", "test -b /dev/vdb && echo yes": "yes"})
	begin = time.Now()
	c.must(c.Shutdown(ctx))
	c.Log("shutdown of two", time.Since(begin))
	c.open()
	c.networks()
	c.must(c.Start(ctx, serverB))
	c.runs(c.login("172.24.4.11:22"), map[string]string{"cat left": "disk", "test -b /dev/vdb && echo yes": "yes"})
}

// snapshot is what a machine could leave on the host. Other sandboxes may run
// beside the test, so only what bears this one's marks or paths is in it.
func snapshot(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, pattern := range []string{"/sys/fs/cgroup/*/slipway-*" + serverA, "/sys/fs/cgroup/*/slipway-*" + serverB,
		"/sys/fs/cgroup/slipway-*" + serverA, "/sys/fs/cgroup/slipway-*" + serverB} {
		found, _ := filepath.Glob(pattern)
		for _, f := range found {
			all[f] = true
		}
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, "/TestMachine") && !strings.Contains(line, "host-space") {
			all[line] = true
		}
	}
	loops, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, l := range loops {
		if file, _ := os.ReadFile(l); strings.Contains(string(file), "/TestMachine") {
			all[string(file)] = true
		}
	}
	processes, _ := filepath.Glob("/proc/[0-9]*/fd/1")
	for _, p := range processes {
		if to, _ := os.Readlink(p); strings.Contains(to, "/TestMachine") {
			all[p+" "+to] = true
		}
	}
	setting, _ := os.ReadFile("/proc/sys/fs/inotify/max_user_instances")
	all["fs.inotify.max_user_instances "+string(setting)] = true
	return all
}
