package container_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/container"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/machinetest"
)

// cloud is a driver with a host's network namespace of its own.
type cloud struct {
	*machinetest.World
	*container.Driver
	options container.Options
	before  map[string]bool
}

const (
	serverA = "0a0a0a0a-0000-4000-8000-00000000000a"
	serverB = "0b0b0b0b-0000-4000-8000-00000000000b"
)

// newCloud skips where machines cannot be had.
func newCloud(t *testing.T) *cloud {
	t.Helper()
	w := machinetest.New(t)
	c := &cloud{World: w, options: container.Options{
		Dir: filepath.Join(w.Dir, "state"), RunDir: filepath.Join(w.Dir, "run"), HostSpace: w.HostSpace,
		Runc: filepath.Join(w.Bundle, "bin/runc"), Events: event.Discard{}}}
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
	c.must(c.World.Networks(c.Driver))
}

func (c *cloud) login(addr string) *ssh.Client {
	c.Helper()
	client, err := c.Login(addr, time.Minute)
	c.must(err)
	return client
}

func TestMachine(t *testing.T) {
	c := newCloud(t)
	c.networks()
	begin := time.Now()
	a := c.Spec(serverA, "node-a", "fa:16:3e:00:00:0a", "10.0.0.10/24", true)
	c.must(c.Create(t.Context(), a))
	b := c.Spec(serverB, "Node B!", "fa:16:3e:00:00:0b", "10.0.0.11/24", false)
	b.Metadata.Hostname = ""
	c.must(c.Create(t.Context(), b))
	inA, inB := c.login("172.24.4.10:22"), c.login("172.24.4.11:22")
	t.Logf("SSH to both after %v", time.Since(begin))
	c.must(c.Create(t.Context(), a)) // again: as it is
	c.Runs(inA, map[string]string{
		"hostname":                                                    "node-a",
		"sudo cat /root/said":                                         "hello",
		"cat /etc/resolv.conf":                                        "nameserver 192.0.2.53",
		"cat /sys/class/net/eth0/mtu":                                 "1450",
		"cat /sys/class/net/eth0/address":                             "fa:16:3e:00:00:0a",
		"systemd-detect-virt || true":                                 "container-other",
		"sudo systemctl --failed --plain --no-legend":                 "",
		"cloud-init query platform":                                   "configdrive",
		fmt.Sprintf(machinetest.Fetch, "latest/meta-data/local-ipv4"): "10.0.0.10",
		fmt.Sprintf(machinetest.Fetch, "latest/meta-data/public-keys/0/openssh-key"): strings.TrimSpace(c.Key),
	})
	c.Runs(inB, map[string]string{
		"hostname": "node-b", "sudo cat /root/said": "hello", "cloud-init query platform": "openstack",
		fmt.Sprintf(machinetest.Fetch, "latest/meta-data/local-ipv4"): "10.0.0.11",
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
	c.ownUnified()
}

// ownUnified wants the machine's processes in no one else's cgroup of version 2, to which eBPF
// programs attach, where the host has that beside version 1: runc makes it. Its systemd moves
// them to cgroups below, if it manages that version.
func (c *cloud) ownUnified() {
	c.Helper()
	const unified = "/sys/fs/cgroup/unified"
	if _, err := os.Stat(unified); err != nil {
		return
	}
	paths, _ := filepath.Glob(unified + "/slipway-*" + serverA)
	if len(paths) != 1 {
		c.Fatalf("cgroup of version 2 of the machine: %v", paths)
	}
	var processes []string
	c.must(filepath.WalkDir(paths[0], func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "cgroup.procs" {
			var text []byte
			text, err = os.ReadFile(path)
			processes = append(processes, strings.Fields(string(text))...)
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
			return nil // the cgroup of a service that has just ended
		}
		return err
	}))
	if len(processes) < 2 {
		c.Errorf("the machine's cgroup of version 2 has the processes %q", processes)
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
	c.Runs(inA, map[string]string{"readlink -f /dev/disk/by-id/virtio-01234567-89ab-cdef-0": "/dev/vdb",
		"sudo blockdev --getsize64 /dev/vdb": "1073741824"})
	c.Sh(inA, "sudo mkfs.ext4 -q /dev/vdb && sudo mount /dev/vdb /mnt && echo kept | sudo tee /mnt/file")
	c.must(c.Volumes().ExtendVolume(ctx, volume, 2))
	c.Runs(inA, map[string]string{"sudo blockdev --getsize64 /dev/vdb": "2147483648"})
	if err := c.DetachVolume(ctx, serverA, volume); err == nil {
		c.Error("a mounted volume is detached")
	}
	c.Sh(inA, "sudo umount /mnt")
	c.must(c.DetachVolume(ctx, serverA, volume))
	c.must(c.DetachVolume(ctx, serverA, volume))
	c.Runs(inA, map[string]string{"ls /dev/vdb /dev/disk/by-id/* 2>/dev/null || echo gone": "gone"})
	_, err = c.AttachVolume(ctx, serverB, volume)
	c.must(err)
	c.Runs(inB, map[string]string{"sudo mount /dev/vdb /mnt && cat /mnt/file; sudo umount /mnt": "kept"})
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
	c.Runs(inA, map[string]string{
		fmt.Sprintf(machinetest.Fetch, "latest/meta-data/local-ipv4"): "10.0.0.10",
		"echo said-later | sudo tee /dev/console":                     "said-later",
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
	c.Sh(inB, "echo disk > left && sync")
	begin := time.Now()
	c.must(c.Stop(ctx, serverB))
	c.Log("stop", time.Since(begin))
	if state, err := c.State(ctx, serverB); state != machine.Stopped || err != nil {
		c.Errorf("state after stop: %s, %v", state, err)
	}
	c.must(c.Start(ctx, serverB))
	c.Runs(c.login("172.24.4.11:22"), map[string]string{"cat left": "disk", "test -b /dev/vdb && echo yes": "yes"})
	begin = time.Now()
	c.must(c.Shutdown(ctx))
	c.Log("shutdown of two", time.Since(begin))
	c.open()
	c.networks()
	c.must(c.Start(ctx, serverB))
	c.Runs(c.login("172.24.4.11:22"), map[string]string{"cat left": "disk", "test -b /dev/vdb && echo yes": "yes"})
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
