package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sandbox is a cloud with real machines, used by Debian's own client.
type sandbox struct {
	t       *testing.T
	program string
	dir     string
	key     string
}

// startSandbox starts it with driver container; it is reset when the test ends.
func startSandbox(t *testing.T) *sandbox {
	t.Helper()
	program := builtProgram(t)
	s := &sandbox{t: t, program: program, dir: filepath.Join(t.TempDir(), "cloud")}
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(s.dir, "sandbox.log"))
			t.Logf("the sandbox said:\n%s", log[max(0, len(log)-6000):])
		}
		_ = exec.Command(program, "sandbox", "reset", "--dir", s.dir).Run()
	})
	s.start()
	return s
}

func (s *sandbox) slipway(args ...string) string {
	s.t.Helper()
	return run(s.t, s.program, append(append([]string{"sandbox"}, args...), "--dir", s.dir)...)
}

func (s *sandbox) start() {
	s.t.Helper()
	said := s.slipway("start", "--driver", "container", "--bundle", bundleDir(s.t), "--factor", "0")
	if !strings.Contains(said, "driver container") {
		s.t.Fatalf("start said:\n%s", said)
	}
}

// openstack runs Debian's client and returns what it printed.
func (s *sandbox) openstack(args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "openstack", args...)
	cmd.Env = append(os.Environ(), "OS_CLIENT_CONFIG_FILE="+filepath.Join(s.dir, "clouds.yaml"), "OS_CLOUD=sandbox", "PYTHONWARNINGS=ignore")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("openstack %s: %v\n%s%s", strings.Join(args, " "), err, out, errs.String())
	}
	return strings.TrimSpace(string(out))
}

// id runs a command that makes something and returns its id.
func (s *sandbox) id(args ...string) string {
	s.t.Helper()
	return s.openstack(append(args, "-f", "value", "-c", "id")...)
}

// ssh runs a command on a machine, trying until it lets one in.
func (s *sandbox) ssh(address, command string) string {
	s.t.Helper()
	var out []byte
	eventually(s.t, time.Minute, func() (string, bool) {
		var err error
		out, err = exec.CommandContext(s.t.Context(), "ssh", "-i", s.key, "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
			"-o", "ConnectTimeout=2", "-o", "LogLevel=ERROR", "debian@"+address, command).CombinedOutput()
		return string(out), err == nil
	})
	return strings.TrimSpace(string(out))
}

// server boots a machine that says its name on port 80, with a floating IP.
func (s *sandbox) server(name string) (id, address string) {
	s.t.Helper()
	data := filepath.Join(s.t.TempDir(), "user-data")
	text := "#cloud-config\nwrite_files:\n- {path: /srv/index.html, content: \"" + name + "\"}\n" +
		"runcmd:\n- [systemd-run, --unit=web, python3, -m, http.server, \"80\", --directory, /srv]\n"
	if err := os.WriteFile(data, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	id = s.id("server", "create", "--image", "node", "--flavor", "m1.small", "--network", "inside", "--security-group", "web",
		"--key-name", "me", "--user-data", data, "--wait", name)
	address = s.openstack("floating", "ip", "create", "public", "-f", "value", "-c", "floating_ip_address")
	s.openstack("server", "add", "floating", "ip", id, address)
	return id, address
}

// site makes the network, the rules, the key and the image.
func (s *sandbox) site() {
	s.t.Helper()
	s.openstack("network", "create", "inside")
	s.openstack("subnet", "create", "--network", "inside", "--subnet-range", "10.9.0.0/24", "inside")
	s.openstack("router", "create", "--external-gateway", "public", "out")
	s.openstack("router", "add", "subnet", "out", "inside")
	s.openstack("security", "group", "create", "web")
	for _, port := range []string{"22", "80"} {
		s.openstack("security", "group", "rule", "create", "--protocol", "tcp", "--dst-port", port, "web")
	}
	s.key = filepath.Join(s.t.TempDir(), "key")
	if err := os.WriteFile(s.key, []byte(s.openstack("keypair", "create", "me")+"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.openstack("image", "create", "--disk-format", "raw", "--container-format", "bare", "--file", filepath.Join(bundleDir(s.t), "machines", "node.raw"), "node")
}

// kill ends the process as a crash would.
func (s *sandbox) kill() {
	s.t.Helper()
	var status struct{ PID int }
	if err := json.Unmarshal([]byte(s.slipway("status", "-o", "json")), &status); err != nil || status.PID == 0 {
		s.t.Fatalf("status: %v", err)
	}
	if err := syscall.Kill(status.PID, syscall.SIGKILL); err != nil {
		s.t.Fatal(err)
	}
	eventually(s.t, 10*time.Second, func() (string, bool) {
		text := s.slipway("status", "-o", "json")
		return text, strings.Contains(text, `"running": false`)
	})
}

// TestSandboxIsACloud is what a newcomer does with the sandbox, by Debian's own
// clients: machines, floating IPs, volumes and load balancers are real, a crash
// and a stop lose nothing, and the host is left as it was.
func TestSandboxIsACloud(t *testing.T) {
	if !isolate(t) {
		return
	}
	before := hostState(t)
	s := startSandbox(t)
	s.site()
	first, firstIP := s.server("first")
	second, secondIP := s.server("second")
	if got := s.ssh(firstIP, "hostname"); got != "first" {
		t.Errorf("hostname of the first server: %q", got)
	}

	volume := s.id("volume", "create", "--size", "1", "data")
	device := "/dev/disk/by-id/virtio-" + volume[:20]
	s.openstack("server", "add", "volume", first, volume)
	s.ssh(firstIP, "sudo sh -ec 'mkfs.ext4 -q "+device+"; mount "+device+" /mnt; echo kept >/mnt/file; umount /mnt'")
	s.openstack("server", "remove", "volume", first, volume)
	eventually(t, 30*time.Second, func() (string, bool) {
		status := s.openstack("volume", "show", volume, "-f", "value", "-c", "status")
		return status, status == "available"
	})
	s.openstack("server", "add", "volume", second, volume)
	read := "sudo sh -ec 'mount " + device + " /mnt; cat /mnt/file; umount /mnt'"
	if got := s.ssh(secondIP, read); got != "kept" {
		t.Errorf("the second server reads %q from the volume", got)
	}

	balanced := s.balance()
	s.kill() // machines run on
	s.start()
	if got := s.ssh(firstIP, "hostname"); got != "first" {
		t.Errorf("after a crash: %q", got)
	}
	s.expectBoth(balanced)
	s.slipway("stop")
	compareHosts(t, "after stop", before, hostState(t))
	s.start()
	if got := s.ssh(secondIP, read); got != "kept" {
		t.Errorf("after stop and start the second server reads %q", got)
	}

	s.clear(first, second, volume)
	s.slipway("stop")
	compareHosts(t, "at the end", before, hostState(t))
}

// balance puts a load balancer with a floating IP in front of both servers.
func (s *sandbox) balance() string {
	s.t.Helper()
	s.openstack("loadbalancer", "create", "--name", "front", "--vip-subnet-id", "inside", "--wait")
	s.openstack("loadbalancer", "listener", "create", "--name", "web", "--protocol", "TCP", "--protocol-port", "80", "--wait", "front")
	s.openstack("loadbalancer", "pool", "create", "--name", "web", "--lb-algorithm", "ROUND_ROBIN", "--listener", "web", "--protocol", "TCP", "--wait")
	for _, name := range []string{"first", "second"} {
		var shown struct{ Addresses map[string][]string }
		if err := json.Unmarshal([]byte(s.openstack("server", "show", name, "-f", "json", "-c", "addresses")), &shown); err != nil {
			s.t.Fatal(err)
		}
		s.openstack("loadbalancer", "member", "create", "--address", shown.Addresses["inside"][0], "--protocol-port", "80", "--wait", "web")
	}
	port := s.openstack("loadbalancer", "show", "front", "-f", "value", "-c", "vip_port_id")
	address := s.openstack("floating", "ip", "create", "--port", port, "public", "-f", "value", "-c", "floating_ip_address")
	s.expectBoth(address)
	return address
}

// expectBoth asks the load balancer until both servers have answered.
func (s *sandbox) expectBoth(address string) {
	s.t.Helper()
	seen := map[string]bool{}
	eventually(s.t, time.Minute, func() (string, bool) {
		out, err := exec.CommandContext(s.t.Context(), "curl", "--silent", "--show-error", "--max-time", "2", "http://"+address+"/").CombinedOutput()
		if err == nil {
			seen[strings.TrimSpace(string(out))] = true
		}
		return string(out), seen["first"] && seen["second"]
	})
}

// clear deletes all that was made, as a user would.
func (s *sandbox) clear(first, second, volume string) {
	s.t.Helper()
	s.openstack("loadbalancer", "delete", "--cascade", "--wait", "front")
	s.openstack("server", "remove", "volume", second, volume)
	s.openstack("server", "delete", "--wait", first, second)
	s.openstack("volume", "delete", volume)
	for _, address := range strings.Fields(s.openstack("floating", "ip", "list", "-f", "value", "-c", "ID")) {
		s.openstack("floating", "ip", "delete", address)
	}
	s.openstack("router", "remove", "subnet", "out", "inside")
	s.openstack("router", "delete", "out")
	s.openstack("network", "delete", "inside")
	s.openstack("security", "group", "delete", "web")
	s.openstack("keypair", "delete", "me")
	s.openstack("image", "delete", "node")
	for _, kind := range []string{"server", "volume", "router", "floating ip"} {
		if left := s.openstack(append(strings.Fields(kind), "list", "-f", "value", "-c", "ID")...); left != "" {
			s.t.Errorf("left of %s: %s", kind, left)
		}
	}
	if left := s.openstack("loadbalancer", "list", "-f", "value", "-c", "id"); left != "" {
		s.t.Errorf("left of loadbalancer: %s", left)
	}
}
