package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/test/foreignimage/image"
)

// withForeignSeed is the section of the environment file.
const withForeignSeed = `
  seed: {image: plain-debian, dataVolume: {sizeGiB: 60}}
`

// TestForeignSeed has a seed of another's image: Debian's packages with systemd, cloud-init
// and an SSH server, and nothing of Slipway's. k3s, container images and tools come over
// SSH, also when a run is killed in the middle, and again to a server that replaces the
// first. A machine that cannot be a seed is refused with the cause before k3s is touched.
// SLIPWAY_FOREIGN_IMAGE names an image that was made before; to make one takes a minute,
// and longer beside other work, so it runs only where SLIPWAY_PROOFS is set.
func TestForeignSeed(t *testing.T) {
	if os.Getenv("SLIPWAY_PROOFS") == "" {
		t.Skip("SLIPWAY_PROOFS is not set")
	}
	bundleDir(t)
	if os.Getenv(isolated) != t.Name() && os.Geteuid() == 0 { // in there is no network to get packages by
		start := time.Now()
		file, err := image.Given(t.Context(), t.TempDir())
		if err != nil {
			t.Fatalf("making the image: %v", err)
		}
		t.Logf("the image took %s", time.Since(start).Round(time.Second))
		t.Setenv(image.GivenVariable, file)
	}
	if !isolate(t) {
		return
	}
	p := newProject(t)
	defer p.tellSeed()
	p.append(withForeignSeed)
	p.openstack("image", "create", "--disk-format", "raw", "--container-format", "bare", "--property", "os_distro=debian",
		"--file", os.Getenv(image.GivenVariable), "plain-debian")
	if said := p.do("preflight", "-o", "json"); !strings.Contains(said, `"bringPayload": true`) || !strings.Contains(said, "over SSH") {
		t.Errorf("preflight does not say what is brought:\n%s", said)
	}
	p.timed("up, killed while k3s is brought", func() { p.killAt(saying("bringing k3s"), "up", "--yes") })
	p.timed("up", func() { p.up() })
	p.expectProviders()
	p.expectBrought()
	made := p.ids()
	p.timed("up again", func() {
		if again := p.up(); len(again.Report.Changes) != 0 {
			t.Errorf("a second run changed %v", again.Report.Changes)
		}
	})
	p.kubectl("create", "configmap", "kept", "--from-literal", "a=b")
	p.refuseUnfit()
	p.openstack("server", "delete", "--wait", "demo-seed")
	p.do("refresh")
	p.timed("up with a new server", func() { p.up() })
	if now := p.ids(); now["server demo-seed"] == made["server demo-seed"] || now["volume demo-seed-data"] != made["volume demo-seed-data"] {
		t.Errorf("a server that was deleted: from %v to %v", made, now)
	}
	if got := p.kubectl("get", "configmap", "kept", "-o", "jsonpath={.data.a}"); got != "b" {
		t.Errorf("after the server was replaced the object holds %q", got)
	}
	p.expectProviders()
	p.timed("down", func() { p.do("down", "--yes") })
	if left := p.ids(); len(left) != 0 {
		t.Errorf("down left %v", left)
	}
	if left := p.openstack("image", "list", "-f", "value", "-c", "Name"); left != "plain-debian" {
		t.Errorf("images after down: %q; the operator's must stay", left)
	}
}

// expectBrought wants on the machine what the bundle's image has, whole and from nowhere
// else: nothing was pulled, for there is no network but that of the sandbox.
func (p *project) expectBrought() {
	p.t.Helper()
	p.do("ssh", "--", "sudo", "sh", "-ec", "test -e /etc/slipway/brought; sha256sum --check --quiet /etc/slipway/k3s.sha256; helm version --short; kustomize version; k9s version --short")
	if left := p.do("ssh", "--", "sudo", "find", "/usr", "-xdev", "-name", "*.part*", "-path", "*/.*"); left != "" {
		p.t.Errorf("parts are left:\n%s", left)
	}
	if user := strings.TrimSpace(p.do("ssh", "--", "id", "-un")); user != "debian" {
		p.t.Errorf("logged in as %s", user)
	}
}

// refuseUnfit takes a program away that k3s needs, and lets up change k3s: it must say
// what is missing, and leave the running k3s alone.
func (p *project) refuseUnfit() {
	p.t.Helper()
	pid := p.do("ssh", "--", "systemctl", "show", "--property", "MainPID", "k3s")
	p.do("ssh", "--", "sudo", "mv", "/usr/bin/cmp", "/usr/bin/away")
	p.replace("sizeGiB: 60", "sizeGiB: 61")
	out, err := p.command("up", "--yes", "--progress", "plain").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "it has no cmp") || !strings.Contains(string(out), "install the packages into the image (on Debian: diffutils)") {
		p.t.Errorf("up on a machine without cmp: %v\n%s", err, out)
	}
	if now := p.do("ssh", "--", "systemctl", "show", "--property", "MainPID", "k3s"); now != pid {
		p.t.Errorf("k3s was process %s, is %s", pid, now)
	}
	p.do("ssh", "--", "sudo", "mv", "/usr/bin/away", "/usr/bin/cmp")
	p.timed("up with the program again", func() { p.up() })
}

// tellSeed shows, when the test failed, what the machine says of itself.
func (p *project) tellSeed() {
	if !p.t.Failed() {
		return
	}
	console, _ := p.command("logs", "--console", "--lines", "80").CombinedOutput()
	p.t.Logf("the console:\n%s", console)
	for _, question := range []string{
		"cloud-init status --long; sudo tail -n 40 /var/log/cloud-init-output.log",
		"systemctl --failed --no-pager; systemctl status --no-pager --lines 15 k3s slipway-data slipway-container",
		"sudo journalctl -u k3s --no-pager --lines 60",
		"ls -la /usr/share/slipway/images /usr/local/bin /etc/slipway; df -h; findmnt",
		"sudo k3s kubectl get pods -A -o wide; sudo k3s crictl images",
	} {
		out, err := p.command("ssh", "--", "sh", "-c", question).CombinedOutput()
		p.t.Logf("%s: %v\n%s", question, err, out[max(0, len(out)-8000):])
	}
}
