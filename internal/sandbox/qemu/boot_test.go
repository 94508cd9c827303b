package qemu_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/machinetest"
	"github.com/slipway-sh/slipway/internal/sandbox/qemu"
	"github.com/slipway-sh/slipway/internal/sandbox/site"
)

const (
	server  = "0c0c0c0c-0000-4000-8000-00000000000c"
	address = "172.24.4.10:22"
	// patience is how long an emulated machine may take to boot on a busy host.
	patience = 6 * time.Minute
)

// cloud is a driver with a host's network namespace of its own.
type cloud struct {
	*machinetest.World
	*qemu.Driver
	place *site.Site
	ssh   *ssh.Client
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{World: machinetest.New(t)}
	c.open()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		for _, err := range []error{c.Driver.Delete(ctx, server), c.place.Close(), c.place.Shutdown(ctx)} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	return c
}

// open is what a process does at its start.
func (c *cloud) open() {
	c.Helper()
	var err error
	c.place, err = site.Open(site.Options{Dir: filepath.Join(c.Dir, "state"), RunDir: filepath.Join(c.Dir, "run"),
		HostSpace: c.HostSpace, Events: event.Discard{}})
	if err != nil {
		c.Fatal(err)
	}
	if c.Driver, err = qemu.OpenAt(c.place, "auto"); err != nil {
		c.Fatal(err)
	}
	c.must(c.Networks(c.place))
}

func (c *cloud) must(err error) {
	c.Helper()
	if err != nil {
		if text, err := c.Console(context.WithoutCancel(c.Context()), server, 40); err == nil {
			c.Logf("console:\n%s", text)
		}
		c.Fatal(err)
	}
}

// login waits until the machine lets in.
func (c *cloud) login() {
	c.Helper()
	begin := time.Now()
	client, err := c.Login(address, patience)
	c.must(err)
	c.ssh = client
	c.Logf("SSH after %v", time.Since(begin))
}

// eventually waits for what a command says: a guest takes its time to see a device.
func (c *cloud) eventually(command, want string) {
	c.Helper()
	got := ""
	for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		if got = c.Sh(c.ssh, command+" || true"); got == want {
			return
		}
	}
	c.Errorf("%s: %q, want %q", command, got, want)
}

// TestMachine takes one virtual machine through its life. Its parts share it, because
// an emulated machine takes a minute to boot, and twice, so it runs only where
// SLIPWAY_PROOFS is set; TestASmallMachine has most of it in seconds.
func TestMachine(t *testing.T) {
	if os.Getenv("SLIPWAY_PROOFS") == "" {
		t.Skip("SLIPWAY_PROOFS is not set")
	}
	c := newCloud(t)
	spec := c.Spec(server, "node-c", "fa:16:3e:00:00:0c", "10.0.0.10/24", false)
	spec.VCPUs, spec.MemoryMiB = 2, 1024
	spec.Local = []machine.LocalDisk{{GiB: 1, Address: "0000:00:10.0"}}
	c.must(c.Create(t.Context(), spec))
	pid := c.pid()
	c.must(c.Create(t.Context(), spec)) // again: as it is
	if c.pid() != pid {
		t.Error("a machine that runs is made anew")
	}
	c.login()
	c.booted()
	c.volumes()
	c.cards()
	c.adopted(pid)
	c.paused()
	c.rebooted(pid)
	c.crashed()
	c.deleted()
}

// booted looks at what the guest found.
func (c *cloud) booted() {
	c.Helper()
	c.Runs(c.ssh, map[string]string{
		"hostname":                                            "node-c",
		"sudo cat /root/said 2>/dev/null":                     "hello",
		"cat /sys/class/net/eth0/mtu":                         "1450",
		"cat /sys/class/net/eth0/address":                     "fa:16:3e:00:00:0c",
		"cat /sys/class/dmi/id/product_name":                  "OpenStack Nova",
		"sudo cat /sys/class/dmi/id/product_uuid 2>/dev/null": server,
		"nproc": "2",
		"readlink -f /dev/disk/by-path/pci-0000:00:10.0 | xargs lsblk -bdno SIZE": "1073741824",
		fmt.Sprintf(machinetest.Fetch, "latest/meta-data/local-ipv4"):             "10.0.0.10",
		fmt.Sprintf(machinetest.Fetch, "openstack/latest/user_data"):              "#cloud-config\nwrite_files: [{path: /root/said, content: hello}]",
	})
	c.eventually("test $(df --output=size -BG / | tail -1 | tr -dc 0-9) -ge 9 && echo grown", "grown")
	text, err := c.Console(c.Context(), server, 0)
	c.must(err)
	for _, want := range []string{"SeaBIOS", "Linux version", "cloud-init"} {
		if !strings.Contains(text, want) {
			c.Errorf("the console has no %q", want)
		}
	}
	if last, err := c.Console(c.Context(), server, 2); err != nil || strings.Count(last, "\n") > 2 {
		c.Errorf("the last two lines: %q, %v", last, err)
	}
}

const (
	volume = "01234567-89ab-cdef-0123-456789abcdef"
	link   = "/dev/disk/by-id/virtio-01234567-89ab-cdef-0"
)

// volumes hot-plugs a volume, grows it while it is mounted, and takes it away.
func (c *cloud) volumes() {
	c.Helper()
	ctx := c.Context()
	c.must(c.place.Disks.CreateVolume(ctx, machine.Volume{ID: volume, GiB: 1}))
	for range 2 { // the second finds it
		device, err := c.AttachVolume(ctx, server, volume)
		c.must(err)
		if device != "/dev/vdb" {
			c.Errorf("the volume is %s, want /dev/vdb", device)
		}
	}
	c.eventually("lsblk -bdno SIZE "+link, "1073741824")
	c.Sh(c.ssh, "sudo mkfs.ext4 -q "+link+" && sudo mount "+link+" /mnt && echo kept | sudo tee /mnt/file")
	c.must(c.place.Disks.ExtendVolume(ctx, volume, 2))
	users, err := c.Users(volume)
	c.must(err)
	if len(users) != 1 || users[0] != server {
		c.Fatalf("the volume is with %v", users)
	}
	c.must(c.Grow(ctx, server, volume, 2<<30))
	c.eventually("lsblk -bdno SIZE "+link, "2147483648")
	c.Sh(c.ssh, "sudo resize2fs "+link+" && sudo umount /mnt")
	for range 2 {
		c.must(c.DetachVolume(ctx, server, volume))
	}
	c.eventually("test -e "+link+" || echo gone", "gone")
	_, err = c.AttachVolume(ctx, server, volume) // a second time, and for the restarts below
	c.must(err)
	c.eventually("lsblk -bdno SIZE "+link, "2147483648")
	c.Runs(c.ssh, map[string]string{"sudo mount " + link + " /mnt 2>/dev/null && cat /mnt/file && sudo umount /mnt 2>/dev/null": "kept"})
}

// cards hot-plugs a card and takes it away.
func (c *cloud) cards() {
	c.Helper()
	ctx := c.Context()
	p := machinetest.Port("0d0d0d0d-000", machinetest.Network, "fa:16:3e:00:00:0d", "10.0.0.13/24", "")
	for range 2 {
		c.must(c.AttachPort(ctx, server, p))
	}
	const count = "grep -il fa:16:3e:00:00:0d /sys/class/net/*/address | wc -l"
	c.eventually(count, "1")
	for range 2 {
		c.must(c.DetachPort(ctx, server, p.ID))
	}
	c.eventually(count, "0")
	if taps := c.taps(); len(taps) != 1 {
		c.Errorf("tap devices: %v, want one", taps)
	}
}

// adopted forgets everything that the process knew, as after kill -9.
func (c *cloud) adopted(pid int) {
	c.Helper()
	c.must(c.place.Close())
	c.open()
	if state, err := c.State(c.Context(), server); state != machine.Running || err != nil || c.pid() != pid {
		c.Errorf("after a restart of the process: %s, %v, process %d, before %d", state, err, c.pid(), pid)
	}
	c.Runs(c.ssh, map[string]string{fmt.Sprintf(machinetest.Fetch, "latest/meta-data/local-ipv4"): "10.0.0.10"})
}

func (c *cloud) paused() {
	c.Helper()
	ctx := c.Context()
	c.must(c.Pause(ctx, server))
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		if session, err := c.ssh.NewSession(); err == nil {
			_ = session.Run("true")
			session.Close()
		}
	}()
	select {
	case <-answered:
		c.Error("a paused machine answers")
	case <-time.After(2 * time.Second):
	}
	disk, err := c.Snapshot(ctx, server) // it stays paused
	c.must(err)
	end, err := disk.(*os.File).Seek(0, 2)
	if err != nil || end != 10<<30 {
		c.Errorf("a snapshot of %d bytes, %v", end, err)
	}
	disk.Close()
	select {
	case <-answered:
		c.Error("a snapshot wakes a paused machine")
	default:
	}
	c.must(c.Unpause(ctx, server))
	<-answered
}

// rebooted restarts the machine by its power button; it keeps its disk and volume.
func (c *cloud) rebooted(pid int) {
	c.Helper()
	c.Sh(c.ssh, "echo disk > left; cat /proc/sys/kernel/random/boot_id > boot; sync")
	begin := time.Now()
	c.must(c.Reboot(c.Context(), server, false))
	took := time.Since(begin)
	c.Logf("switched off and started after %v", took)
	if c.pid() == pid {
		c.Error("QEMU runs on")
	}
	text, err := c.Console(c.Context(), server, 0)
	c.must(err)
	if took > 50*time.Second || !strings.Contains(text, "Power down") && !strings.Contains(text, "Reached target") {
		c.Errorf("the machine did not switch itself off within its time (%v)", took)
	}
	c.login()
	c.Runs(c.ssh, map[string]string{"cat left": "disk", "lsblk -bdno SIZE " + link: "2147483648",
		"grep -q $(cat /proc/sys/kernel/random/boot_id) boot || echo another": "another"})
}

// crashed kills QEMU.
func (c *cloud) crashed() {
	c.Helper()
	c.must(unix.Kill(c.pid(), unix.SIGKILL))
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		state, err := c.State(c.Context(), server)
		c.must(err)
		text, err := c.Console(c.Context(), server, 3)
		c.must(err)
		if state == machine.Stopped && strings.Contains(text, "QEMU ended: signal: killed") {
			return
		}
		if time.Now().After(end) {
			c.Fatalf("after a crash it is %s, and its console ends with %q", state, text)
		}
	}
}

// deleted starts the machine once more, deletes it while its firmware runs, and looks
// for what is left.
func (c *cloud) deleted() {
	c.Helper()
	ctx := c.Context()
	c.must(c.Start(ctx, server))
	for range 2 {
		c.must(c.Delete(ctx, server))
	}
	if state, err := c.State(ctx, server); state != machine.Gone || err != nil {
		c.Errorf("state of a deleted machine: %s, %v", state, err)
	}
	if taps := c.taps(); len(taps) > 0 {
		c.Errorf("tap devices are left: %v", taps)
	}
	for _, pattern := range []string{"state/vms/*", "state/vm-images/*", "state/volumes/" + server + "*", "run/vm-*"} {
		if found, _ := filepath.Glob(filepath.Join(c.Dir, pattern)); len(found) > 0 {
			c.Errorf("left: %v", found)
		}
	}
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, line := range lines {
		if text, _ := os.ReadFile(line); strings.Contains(string(text), server) {
			c.Errorf("left: %s: %q", line, text)
		}
	}
	if _, err := os.Stat(c.place.Disks.Path(volume)); err != nil {
		c.Errorf("the volume went with the machine: %v", err)
	}
}
