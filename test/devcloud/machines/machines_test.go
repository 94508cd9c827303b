package machines

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/test/devcloud/operator"
)

// An emulated seed on two processors boots in a minute, starts k3s in one, Cluster API in four
// and the controllers in one; other machines are a quarter as fast.
const upTime = 110 * time.Minute

// run is an operator who looks at the clock.
type run struct{ *operator.Operator }

func newRun(t *testing.T) *run {
	t.Helper()
	dir, bundle := os.Getenv("SLIPWAY_DEVCLOUD_MACHINES"), os.Getenv("SLIPWAY_BUNDLE")
	if dir == "" || bundle == "" {
		t.Skip("SLIPWAY_DEVCLOUD_MACHINES names no devcloud, or SLIPWAY_BUNDLE no bundle: run make devcloud-machines or make devcloud-guests")
	}
	return &run{operator.New(t, dir, bundle)}
}

// newOlderRun is an operator who has an older Slipway at first.
func newOlderRun(t *testing.T) *run {
	t.Helper()
	older := os.Getenv("SLIPWAY_OLDER")
	if older == "" {
		t.Skip("SLIPWAY_OLDER names no older Slipway: run make devcloud-machines")
	}
	r := newRun(t)
	r.Use(filepath.Join(older, "bin", "slipway"), filepath.Join(older, "bundle"))
	return r
}

// step does something and prints how long it took.
func (r *run) step(name string, do func()) {
	r.T.Helper()
	begin := time.Now()
	do()
	r.T.Logf("%6.1f s  %s", time.Since(begin).Seconds(), name)
}

// TestSeedInAGuestOfARealNova takes an environment of an older Slipway from an empty project to
// Cluster API in a guest, with a killed run between. Then it goes to this Slipway, and down again.
//
// proves: F24
func TestSeedInAGuestOfARealNova(t *testing.T) {
	r := newOlderRun(t)
	before := r.Counts()
	r.step("init", func() { r.InitSeed("real") })
	r.step("preflight", func() { r.Do("preflight") })
	r.step("up, killed when the server is there", func() { r.KillUp(10 * time.Minute) })
	r.step("up again, to Cluster API", r.up)
	r.step("the guest", r.guest)
	r.step("Kubernetes on it", r.kubernetes)
	r.step("logs and console", func() {
		r.expect("the journal of k3s", r.Do("logs", "k3s", "--lines", "20"), `k3s\[\d+\]: `)
		// Nova keeps the end of it: by then k3s may have written more than it keeps.
		r.expect("the console", r.Do("logs", "--console", "--lines", "2000"), `(?m)cloud-init.* finished at .*DataSource|^.*\] k3s\[\d+\]: `)
	})
	r.step("status", func() { r.Do("status") })
	r.step("plan", r.nothingToDo)
	r.step("a newer Slipway with its bundle", r.newer)
	r.step("down", func() { r.Do("down", "--yes") })
	r.nothingLeft(before)
}

// up runs to its end, and prints how long each part took.
func (r *run) up() {
	r.T.Helper()
	for _, line := range regexp.MustCompile(`(?m)^\S+ ✓ .*$`).FindAllString(r.everything("up", "--yes", "--progress", "plain"), -1) {
		r.T.Log("          " + line)
	}
}

func (r *run) nothingToDo() {
	r.T.Helper()
	r.expect("the plan", r.Do("plan"), `no changes, \d+ unchanged`)
}

// everything is what a command prints, progress too; it must succeed.
func (r *run) everything(args ...string) string {
	r.T.Helper()
	ctx, cancel := context.WithTimeout(r.T.Context(), upTime)
	defer cancel()
	out, err := r.CommandContext(ctx, args...).CombinedOutput()
	if err != nil {
		r.T.Fatalf("slipway %s: %v\n%s\non the seed:\n%s", strings.Join(args, " "), err, out, r.onTheSeed())
	}
	return string(out)
}

// podsOfTheSeed prints its pods, what went wrong with them, and the last words of containers that
// were started again.
const podsOfTheSeed = `sudo kubectl get pods -A -o wide; sudo kubectl get events -A --field-selector type=Warning | tail -n 60
sudo kubectl get pods -A -o 'jsonpath={range .items[?(@.status.containerStatuses[0].restartCount>0)]}{.metadata.namespace} {.metadata.name}{"\n"}{end}' |
	while read -r namespace pod; do echo "== $pod"; sudo kubectl -n "$namespace" logs --previous --tail 15 "$pod"; done; free -m; uptime`

// onTheSeed is what an operator looks at when something does not work.
func (r *run) onTheSeed() string {
	ctx, cancel := context.WithTimeout(r.T.Context(), 5*time.Minute)
	defer cancel()
	out, err := r.CommandContext(ctx, "ssh", "--", "sh", "-c", podsOfTheSeed).CombinedOutput()
	if err != nil {
		return err.Error() + "\n" + string(out)
	}
	return string(out)
}

// guest looks at what only a real hypervisor, switch and volume service give.
func (r *run) guest() {
	r.T.Helper()
	r.expect("the data volume", r.Do("ssh", "--", "findmnt", "-n", "-o", "SOURCE,FSTYPE", "/var/lib/rancher/k3s"), `^/dev/vdb +ext4`)
	// Geneve takes 58 of 1500 bytes; with more, large packets would be lost.
	r.expect("the MTU", r.Do("ssh", "--", "cat", "/sys/class/net/eth0/mtu"), `^1442$`)
	r.expect("the root file system", r.Do("ssh", "--", "df", "-BG", "--output=size", "/"), `(19|20)G`)
	r.expect("the hypervisor", r.Do("ssh", "--", "systemd-detect-virt"), `^qemu$`)
	r.expect("the domains", r.inside("virsh", "list", "--name"), `^instance-`)
	// Kubernetes on the seed watches more files than the kernel's defaults allow.
	r.expect("the limits of inotify", r.Do("ssh", "--", "cat", "/proc/sys/fs/inotify/max_queued_events", "/proc/sys/fs/inotify/max_user_instances", "/proc/sys/fs/inotify/max_user_watches"), `^131072\n8192\n1308496$`)
	// From inside the guest; SSH above came in by the floating IP.
	r.expect("the way out", r.Do("ssh", "--", "ping", "-c1", "-W5", r.Cloud.Address().String()), "1 received")
}

func (r *run) kubernetes() {
	r.T.Helper()
	r.expect("the node", r.Do("ssh", "--", "sudo", "kubectl", "get", "nodes", "--no-headers"), `^real-seed +Ready`)
	available := r.Do("ssh", "--", "sudo", "kubectl", "get", "deployments", "-A", "-o", `jsonpath={range .items[*]}{.metadata.name}={.status.availableReplicas}{"\n"}{end}`)
	for _, name := range []string{"capi-controller-manager", "capi-kubeadm-bootstrap-controller-manager", "capi-kubeadm-control-plane-controller-manager", "capo-controller-manager", "cert-manager"} {
		r.expect("the controllers", available, `(?m)^`+name+`=1$`)
	}
}

func (r *run) expect(what, got, pattern string) {
	r.T.Helper()
	if !regexp.MustCompile(pattern).MatchString(strings.TrimSpace(got)) {
		r.T.Errorf("%s: want %s, got:\n%s", what, pattern, got)
	}
}

// inside runs a command in the cloud.
func (r *run) inside(name string, args ...string) string {
	r.T.Helper()
	cmd, err := r.Cloud.Command(r.T.Context(), name, args...)
	if err != nil {
		r.T.Fatal(err)
	}
	out, err := cmd.Output()
	if err != nil {
		var said []byte
		if ended, ok := err.(*exec.ExitError); ok {
			said = ended.Stderr
		}
		r.T.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, said)
	}
	return string(out)
}

// nothingLeft looks into the services' databases, and beneath them: no domain, no
// volume's file, no port in OVN but those of the external network.
func (r *run) nothingLeft(before map[string]string) {
	r.T.Helper()
	for table, rows := range r.Counts() {
		if rows != before[table] {
			r.T.Errorf("down left rows: %s has %s, not %s", table, rows, before[table])
		}
	}
	for what, left := range map[string]string{
		"domains":        r.inside("virsh", "list", "--all", "--name"),
		"volumes":        r.inside("ls", "/var/lib/cinder/volumes"),
		"routers":        r.inside("ovn-nbctl", "lr-list"),
		"load balancers": r.inside("ovn-nbctl", "lb-list"),
	} {
		if strings.TrimSpace(left) != "" {
			r.T.Errorf("down left %s: %s", what, left)
		}
	}
	if switches := strings.Count(strings.TrimSpace(r.inside("ovn-nbctl", "ls-list")), "\n") + 1; switches != 1 {
		r.T.Errorf("down left logical switches: %d, want that of the external network only", switches)
	}
}
