package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// seedSettings are in the environment file of TestUp: a private authority, a
// registry with a password, and feature gates that are not the providers' own.
const seedSettings = `
  caBundle: corp.pem
  registries: {registry.example.org: {username: robot, passwordFile: registry-password}}
  clusterAPI:
    providers:
      cluster-api: {featureGates: {MachinePool: false, MachineSetPreflightChecks: false}}
      bootstrap-kubeadm: {featureGates: {MachinePool: false}}
`

// registryPassword is in no file but that of the user, and the seed's own.
const registryPassword = "correct-horse-battery-staple"

// seedAuthority is one that nobody knows, with a certificate that it signed.
type seedAuthority struct{ root, leaf string }

func newSeedAuthority(t *testing.T) seedAuthority {
	t.Helper()
	sign := func(template, parent *x509.Certificate, key, by *ecdsa.PrivateKey) string {
		text, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
		if err != nil {
			t.Fatal(err)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: text}))
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(24 * time.Hour)
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Corp"}, NotAfter: until, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "cloud.corp"}, NotAfter: until}
	return seedAuthority{sign(root, root, key, key), sign(leaf, root, key, key)}
}

// trust writes the files that seedSettings name.
func (p *project) trust(a seedAuthority) {
	p.t.Helper()
	for name, text := range map[string]string{"corp.pem": a.root, "registry-password": registryPassword + "\n"} {
		if err := os.WriteFile(filepath.Join(p.folder, name), []byte(text), 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
}

// expectTrust wants the seed's system to verify what the authority signed, and
// nothing of another one, and the controllers that know authorities by nothing else
// to have it where they look.
func (p *project) expectTrust(a seedAuthority) {
	p.t.Helper()
	for name, one := range map[string]seedAuthority{"the given": a, "another": newSeedAuthority(p.t)} {
		cmd := p.command("ssh", "--", "openssl", "verify")
		cmd.Stdin = strings.NewReader(one.leaf)
		out, err := cmd.CombinedOutput()
		if verified := err == nil && strings.Contains(string(out), "OK"); verified != (one == a) {
			p.t.Errorf("the seed verifies a certificate of %s authority: %t\n%s", name, verified, out)
		}
	}
	pods := trusting(a.root)
	for _, name := range []string{"cert-manager-", "cert-manager-webhook-", "cluster-api-addon-provider-", "cluster-api-janitor-openstack-"} {
		found := false
		for pod := range pods {
			found = found || strings.HasPrefix(pod, name)
		}
		if !found {
			p.t.Errorf("of %s* no pod has the authority; those that have it: %v", name, pods)
		}
	}
}

// trusting are the pods on this test's machines with a process that is told to
// look for authorities where the given one is. Those of machines are this kernel's
// processes too; one may end while it is looked at.
func trusting(root string) map[string]bool {
	pods := map[string]bool{}
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		variables := map[string]string{}
		for line := range strings.SplitSeq(string(text), "\x00") {
			name, value, _ := strings.Cut(line, "=")
			variables[name] = value
		}
		for _, place := range append(filepath.SplitList(variables["SSL_CERT_DIR"]), variables["SSL_CERT_FILE"]) {
			at := filepath.Join(filepath.Dir(file), "root", place)
			inside, _ := filepath.Glob(at + "/*")
			for _, candidate := range append(inside, at) {
				if text, err := os.ReadFile(candidate); err == nil && place != "" && strings.Contains(string(text), strings.TrimSpace(root)) {
					pods[variables["HOSTNAME"]] = true
				}
			}
		}
	}
	return pods
}

// expectGates wants the feature gates of the file in the arguments of the
// controllers, and those that it does not name as the provider has them.
func (p *project) expectGates() {
	p.t.Helper()
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Spec     struct {
				Template struct {
					Spec struct{ Containers []struct{ Args []string } }
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(p.kubectl("get", "deployments", "-A", "-o", "json")), &list); err != nil {
		p.t.Fatal(err)
	}
	gates := map[string]string{}
	for _, d := range list.Items {
		for _, arg := range d.Spec.Template.Spec.Containers[0].Args {
			if text, ok := strings.CutPrefix(arg, "--feature-gates="); ok {
				gates[d.Metadata.Name] = "," + text + ","
			}
		}
	}
	for name, want := range map[string][]string{
		"capi-controller-manager":                       {"MachinePool=false", "MachineSetPreflightChecks=false", "ClusterTopology=false"},
		"capi-kubeadm-bootstrap-controller-manager":     {"MachinePool=false"},
		"capi-kubeadm-control-plane-controller-manager": {"MachinePool=true"},
	} {
		for _, gate := range want {
			if !strings.Contains(gates[name], ","+gate+",") {
				p.t.Errorf("%s: no %s in %s", name, gate, gates[name])
			}
		}
	}
}

// expectReading reads what the seed wrote without a shell on it: its journal, that
// of a unit, and its console as the cloud keeps it.
func (p *project) expectReading() {
	p.t.Helper()
	if said := p.do("logs", "k3s", "--lines", "5"); strings.Count(said, "\n") < 5 || strings.Count(said, "\n") > 6 || !strings.Contains(said, "k3s") {
		p.t.Errorf("the journal of k3s:\n%s", said)
	}
	if said := p.do("logs", "slipway-data"); !strings.Contains(said, "Mount the data volume of k3s") || strings.Contains(said, "k3s[") {
		p.t.Errorf("the journal of the data volume:\n%s", said)
	}
	if said := p.do("logs", "--lines", "100000"); !strings.Contains(said, "cloud-init") || !strings.Contains(said, "k3s[") {
		p.t.Errorf("the whole journal has %d bytes and not all units", len(said))
	}
	console := p.do("logs", "--console", "--lines", "10000")
	if !strings.Contains(console, "demo-seed") {
		p.t.Errorf("the console:\n%s", console)
	}
	if last := p.do("logs", "--console", "--lines", "3"); strings.Count(strings.TrimSpace(last), "\n") > 2 || len(last) >= len(console) {
		p.t.Errorf("3 lines of the console:\n%s", last)
	}
}

// loseDevice takes the data volume from the seed and boots it: k3s does not start,
// up says which device is missing, and nothing is written where the volume should
// be. The volume is larger by then, so that there is something to do for up.
func (p *project) loseDevice() {
	p.t.Helper()
	volume := p.openstack("volume", "show", "demo-seed-data", "-f", "value", "-c", "id")
	p.openstack("server", "stop", "demo-seed")
	p.status("demo-seed", "SHUTOFF")
	p.openstack("server", "remove", "volume", "demo-seed", volume)
	p.openstack("server", "start", "demo-seed")
	p.status("demo-seed", "ACTIVE")
	p.replace("sizeGiB: 60", "sizeGiB: 61")
	out, err := p.command("up", "--yes", "--progress", "plain").CombinedOutput()
	// The console tells it first, or, if SSH was faster, the unit of the seed.
	told := strings.Contains(string(out), "its console says: slipway: data volume "+volume) || strings.Contains(string(out), "slipway-data.service: the data ")
	if err == nil || !told || !strings.Contains(string(out), "no device /dev/disk/by-id/virtio-"+volume[:20]) {
		p.t.Errorf("up without the device: %v\n%s", err, out)
	}
	if found := p.do("ssh", "--", "sudo", "find", "/var/lib/rancher", "-mindepth", "1", "-not", "-path", "/var/lib/rancher/k3s"); found != "" {
		p.t.Errorf("written to the root disk:\n%s", found)
	}
	if state, _ := p.command("ssh", "--", "systemctl", "is-active", "k3s").Output(); strings.TrimSpace(string(state)) == "active" {
		p.t.Error("k3s runs without its volume")
	}
}

// status waits for a server's.
func (p *project) status(server, want string) {
	p.t.Helper()
	eventually(p.t, time.Minute, func() (string, bool) {
		status := p.openstack("server", "show", server, "-f", "value", "-c", "status")
		return status, status == want
	})
}

// replace changes the environment file.
func (p *project) replace(old, new string) {
	p.t.Helper()
	path := filepath.Join(p.folder, "slipway.yaml")
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Replace(string(text), old, new, 1)), 0o600)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// expectPin gives the seed another host key: then it is not the machine that was
// made, and nobody is let in there by mistake.
func (p *project) expectPin() {
	p.t.Helper()
	p.do("ssh", "--", "sudo", "sh", "-ec", "rm /etc/ssh/ssh_host_ed25519_key*; ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key; systemctl restart ssh")
	for _, args := range [][]string{{"ssh", "--", "true"}, {"logs"}} {
		if out, err := p.command(args...).CombinedOutput(); err == nil || !strings.Contains(string(out), "host key") {
			p.t.Errorf("slipway %s on a machine with another host key: %v\n%s", args[0], err, out)
		}
	}
}

// expectImagesFirst wants k3s to import all images before it starts pods: on the data volume of a
// server that was replaced are those of before.
func (p *project) expectImagesFirst() {
	p.t.Helper()
	const last = "Imported images from /var/lib/rancher/k3s/agent/images/slipway.tar"
	said := p.do("ssh", "--", "sudo", "journalctl", "--unit", "k3s", "--boot", "--no-pager", "--output", "cat", "--grep", last+"|Running kubelet")
	if images, pods := strings.Index(said, last), strings.Index(said, "Running kubelet"); images < 0 || pods < images {
		p.t.Errorf("k3s started pods before it had the images:\n%s", said)
	}
}
