package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// project is an environment on a sandbox.
type project struct {
	*sandbox
	folder string
	// said is what commands told of their progress, and warned of.
	said strings.Builder
}

func newProject(t *testing.T) *project {
	t.Helper()
	p := &project{sandbox: startSandbox(t), folder: t.TempDir()}
	text := "apiVersion: slipway.sh/v1alpha1\nkind: Environment\nmetadata: {name: demo}\nspec:\n  cloud: sandbox\n  bundle: " + bundleDir(t) + "\n"
	if err := os.WriteFile(filepath.Join(p.folder, "slipway.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *project) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.program, args...)
	cmd.Dir = p.folder
	cmd.Env = append(os.Environ(), "OS_CLIENT_CONFIG_FILE="+filepath.Join(p.dir, "clouds.yaml"))
	return cmd
}

// do runs slipway in the project and returns what it printed on its output.
func (p *project) do(args ...string) string {
	p.t.Helper()
	cmd := p.command(args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	p.said.WriteString(errs.String())
	if err != nil {
		p.t.Fatalf("slipway %s: %v\n%s\n%s\nk3s on the seed said:\n%s", strings.Join(args, " "), err, out, errs.String(), p.seedJournal())
	}
	return string(out)
}

// seedJournal are the lines of k3s' log that tell why it stopped, for a failed test;
// empty without a seed.
func (p *project) seedJournal() string {
	out, _ := p.command("ssh", "--", "sudo", "journalctl", "--unit", "k3s", "--no-pager", "--lines", "30",
		"--grep", "level=(error|fatal)|^panic|^fatal|[Mm]ain process|^Start|^Stop|Failed with result").Output()
	return string(out)
}

// report is what up prints as data.
type report struct {
	Report struct {
		Changes map[string]int
		Took    []struct {
			Name    string
			Seconds float64
		}
	}
}

// longest are the steps that took a second or more, the longest first.
func (r report) longest() string {
	var text strings.Builder
	for _, step := range r.Report.Took {
		if step.Seconds >= 1 {
			fmt.Fprintf(&text, " %s %.0fs", step.Name, step.Seconds)
		}
	}
	return text.String()
}

func (p *project) up(args ...string) report {
	p.t.Helper()
	var r report
	if err := json.Unmarshal([]byte(p.do(append([]string{"up", "--yes", "-o", "json"}, args...)...)), &r); err != nil {
		p.t.Fatal(err)
	}
	return r
}

// ids are the things that status lists, by type and name; of each there is one.
func (p *project) ids() map[string]string {
	p.t.Helper()
	ids := map[string]string{}
	for name, all := range p.all() {
		if len(all) > 1 {
			p.t.Errorf("%d of %s: %s", len(all), name, all)
		}
		ids[name] = all[0]
	}
	return ids
}

// all are the ids of the things that status lists, by type and name.
func (p *project) all() map[string][]string {
	p.t.Helper()
	var status struct {
		Resources []struct{ ID, Type, Name string }
	}
	if err := json.Unmarshal([]byte(p.do("status", "-o", "json")), &status); err != nil {
		p.t.Fatal(err)
	}
	ids := map[string][]string{}
	for _, r := range status.Resources {
		ids[r.Type+" "+r.Name] = append(ids[r.Type+" "+r.Name], r.ID)
	}
	return ids
}

func (p *project) kubectl(args ...string) string {
	p.t.Helper()
	return strings.TrimSpace(p.do(append([]string{"ssh", "--", "kubectl"}, args...)...))
}

// TestUp makes an environment on an empty cloud, with real machines: what runs
// there, what a second run does, what a lost server costs, and that nothing stays behind.
// With time, a virtual machine becomes a worker among containers.
//
// proves: F02, F04, F16, F17, F18, F23, F25, F27, F40, F49, S-01, S-04, S-81, S-90
func TestUp(t *testing.T) {
	if !isolate(t) {
		return
	}
	p := newProject(t)
	defer p.tell()
	// CI has no time for a look into every corner of the seed; make proofs has.
	whole := os.Getenv("SLIPWAY_PROOFS") != ""
	corp := newSeedAuthority(t)
	if whole {
		p.trust(corp)
		p.append(seedSettings)
	}
	p.listImage()
	p.interrupt()
	p.killWhen("demo-seed", "up", "--yes")
	p.up()
	p.expectProviders()
	if whole {
		p.expectGates()
		p.expectTrust(corp)
		p.expectReading()
		p.expectNoSecrets()
	}
	p.expectTools()
	made := p.ids()
	if again := p.up(); len(again.Report.Changes) != 0 {
		t.Errorf("a second run changed %v", again.Report.Changes)
	}
	if plan := p.do("plan"); !strings.Contains(plan, "no changes") {
		t.Errorf("plan says:\n%s", plan)
	}
	p.expectData()
	if shown := p.openstack("image", "show", "shelf", "-f", "json", "-c", "properties", "-c", "status"); !strings.Contains(shown, `"kube_version": "v1.34.4"`) || !strings.Contains(shown, `"active"`) {
		t.Errorf("the listed image: %s", shown)
	}
	// The seed alone is a management cluster, too: its API is reached from here,
	// by its own address and certificate.
	out, err := p.by("seed.kubeconfig", "", "get", "deployments", "-A")
	if err != nil || !strings.Contains(out, "cluster-api-addon-provider") || !strings.Contains(out, "cluster-api-janitor-openstack") {
		t.Errorf("on the seed: %v\n%s", err, out)
	}

	p.kubectl("create", "configmap", "kept", "--from-literal", "a=b")
	p.growData()
	if whole {
		p.loseDevice()
		p.expectPin()
	}
	p.openstack("server", "delete", "--wait", "demo-seed")
	p.do("refresh")
	p.up()
	now := p.ids()
	for name, id := range made {
		if same := now[name] == id; same == (name == "server demo-seed") {
			t.Errorf("%s: was %s, is %s", name, id, now[name])
		}
	}
	if got := p.kubectl("get", "configmap", "kept", "-o", "jsonpath={.data.a}"); got != "b" { // it was written before the volume grew
		t.Errorf("after the server was replaced the object holds %q", got)
	}
	p.expectImagesFirst()
	if size := p.dataSize(); size < grownGiB<<30*9/10 {
		t.Errorf("the file system of the grown data volume has %d bytes", size)
	}
	p.expectProviders()

	if whole { // emulated, it takes 6 to 20 minutes
		p.timed("life of a virtual machine", p.joinVirtualMachine)
	}
	p.timed("down", func() { p.goDown("--images") })
}

// goDown deletes the environment, and wants nothing left in the project.
func (p *project) goDown(args ...string) {
	p.t.Helper()
	p.do(append([]string{"down", "--yes"}, args...)...)
	if left := p.ids(); len(left) != 0 {
		p.t.Errorf("down left %v", left)
	}
	for _, kind := range []string{"server", "volume", "loadbalancer", "router", "floating ip", "port", "image", "keypair", "application credential"} {
		if left := p.openstack(append(strings.Fields(kind), "list", "-f", "value")...); left != "" {
			p.t.Errorf("down left of %s: %s", kind, left)
		}
	}
}

// interrupt presses Ctrl-C while the image is uploaded.
func (p *project) interrupt() {
	p.t.Helper()
	cmd := p.command("up", "--yes", "--progress", "plain")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	start := time.Now()
	_ = cmd.Process.Signal(syscall.SIGINT)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 || time.Since(start) > 10*time.Second {
		p.t.Errorf("Ctrl-C: exit code %d after %s", code, time.Since(start))
	}
}

// expectProviders wants every controller there, and available: at once, but for
// one that ended a moment later and was started anew, as controllers do that
// lose their lease on a machine that is too busy.
func (p *project) expectProviders() {
	p.t.Helper()
	p.kubectl("wait", "deployments", "-A", "--all", "--for=condition=Available", "--timeout=60s")
	got := p.kubectl("get", "deployments", "-A", "-o", `jsonpath={range .items[*]}{.metadata.name}={.status.availableReplicas}{"\n"}{end}`)
	for _, name := range []string{"capi-controller-manager", "capi-kubeadm-bootstrap-controller-manager", "capi-kubeadm-control-plane-controller-manager",
		"capo-controller-manager", "orc-controller-manager", "cert-manager", "cert-manager-cainjector", "cert-manager-webhook"} {
		if !strings.Contains(got, name+"=1\n") && !strings.HasSuffix(got, name+"=1") {
			p.t.Errorf("%s is not available:\n%s", name, got)
		}
	}
	if file := filepath.Join(p.folder, "kubeconfig"); p.do("kubeconfig", "--output", file) == "" {
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 {
			p.t.Errorf("kubeconfig: %v, %v", info, err)
		}
	}
}

// listImage gives the environment an image that it keeps in the cloud.
func (p *project) listImage() {
	p.t.Helper()
	manifest := "apiVersion: slipway.sh/v1alpha1\nkind: Images\nspec:\n  images:\n" +
		"    - {name: shelf, file: shelf.raw, format: raw, kubernetesVersion: v1.34.4, os: {distro: debian}}\n"
	file, err := os.OpenFile(filepath.Join(p.folder, "slipway.yaml"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	_, err = file.WriteString("  images: [images.yaml]\n")
	if err := errors.Join(err, file.Close(), os.WriteFile(filepath.Join(p.folder, "images.yaml"), []byte(manifest), 0o600),
		os.WriteFile(filepath.Join(p.folder, "shelf.raw"), make([]byte, 1<<20), 0o600)); err != nil {
		p.t.Fatal(err)
	}
}

// grownGiB is more than the data volume has at first.
const grownGiB = 60

// growData makes the data volume larger: the volume is extended in place. Where
// the host lets machines grow a mounted file system it is larger at once, else up
// says that it will be after the next boot.
func (p *project) growData() {
	p.t.Helper()
	before := p.dataSize()
	p.append(fmt.Sprintf("  seed: {dataVolume: {sizeGiB: %d}}\n", grownGiB))
	id := p.openstack("volume", "show", "demo-seed-data", "-f", "value", "-c", "id")
	already := p.said.Len()
	p.up()
	if shown := p.openstack("volume", "show", "demo-seed-data", "-f", "value", "-c", "id", "-c", "size"); shown != id+"\n"+strconv.Itoa(grownGiB) {
		p.t.Errorf("the volume was %s, is %s", id, shown)
	}
	now, later := p.dataSize(), strings.Contains(p.said.String()[already:], "its file system grows only when the seed boots next")
	if grown := now >= grownGiB<<30*9/10; now < before || grown && later {
		p.t.Errorf("the file system had %d bytes, has %d; said to follow later: %t", before, now, later)
	}
}

// dataSize is that of the data volume's file system, in bytes.
func (p *project) dataSize() int64 {
	p.t.Helper()
	text := strings.TrimSpace(p.do("ssh", "--", "findmnt", "--noheadings", "--bytes", "--output", "SIZE", "/var/lib/rancher/k3s"))
	size, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return size
}

// expectData looks at the data volume, and at what its script does with others.
func (p *project) expectData() {
	p.t.Helper()
	volume := p.openstack("volume", "show", "demo-seed-data", "-f", "value", "-c", "id")
	source := strings.TrimSpace(p.do("ssh", "--", "findmnt", "--noheadings", "--output", "SOURCE", "/var/lib/rancher/k3s"))
	device := strings.TrimSpace(p.do("ssh", "--", "readlink", "-f", "/dev/disk/by-id/virtio-"+volume[:20]))
	if source == "" || source != device {
		p.t.Errorf("mounted is %q, the volume is %q", source, device)
	}
	foreign := p.id("volume", "create", "--size", "1", "foreign")
	p.openstack("server", "add", "volume", "demo-seed", foreign)
	link := "/dev/disk/by-id/virtio-" + foreign[:20]
	p.do("ssh", "--", "sudo", "mkfs.ext4", "-q", "-L", "precious", link)
	for id, want := range map[string]string{foreign: "not Slipway's", "00000000-0000-4000-8000-000000000000": "no device /dev/disk/by-id/virtio-00000000-0000-4000-8"} {
		// The mount point is another one there, so that what runs is left alone.
		out, err := p.command("ssh", "--", "sudo", "unshare", "--mount", "sh", "-c", "umount -l /var/lib/rancher/k3s; /usr/local/sbin/slipway-data-volume "+id).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			p.t.Errorf("data volume %s: %v, %s", id, err, out)
		}
	}
	if label := strings.TrimSpace(p.do("ssh", "--", "sudo", "blkid", "-o", "value", "-s", "LABEL", link)); label != "precious" {
		p.t.Errorf("the foreign volume is now %q", label)
	}
	p.openstack("server", "remove", "volume", "demo-seed", foreign)
	eventually(p.t, 30*time.Second, func() (string, bool) {
		status := p.openstack("volume", "show", foreign, "-f", "value", "-c", "status")
		return status, status == "available"
	})
	p.openstack("volume", "delete", foreign)
}

// append adds to the environment file.
func (p *project) append(text string) {
	p.t.Helper()
	path := filepath.Join(p.folder, "slipway.yaml")
	before, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, append(before, strings.TrimPrefix(text, "\n")...), 0o600)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}
