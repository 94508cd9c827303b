package devstack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// host is a host on which stack.sh runs with the plugin; all programs that could change
// anything are recorders.
type host struct {
	t    *testing.T
	work string
	env  []string
}

// programs are what the recorder stands for.
var programs = []string{"sudo", "systemctl", "openstack", "wget", "curl", "journalctl", "sysctl", "go", "nova", "neutron", "glance"}

func newHost(t *testing.T) *host {
	t.Helper()
	testdata, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := filepath.Abs("../../devstack")
	if err != nil {
		t.Fatal(err)
	}
	h := &host{t: t, work: t.TempDir()}
	bin := h.path("bin")
	h.must(os.Mkdir(bin, 0o755))
	for _, name := range programs {
		h.must(os.Symlink(filepath.Join(testdata, "bin/recorder"), filepath.Join(bin, name)))
	}
	h.env = []string{"PATH=" + bin + ":/usr/sbin:/usr/bin:/sbin:/bin", "WORK=" + h.work, "HARNESS=" + testdata, "PLUGIN=" + plugin,
		"SLIPWAY_DEVSTACK=" + os.Getenv("SLIPWAY_DEVSTACK"), "HOME=" + h.work}
	// A program that is there: as go would have built it.
	h.must(os.MkdirAll(h.path("stack/bin"), 0o755))
	h.must(os.Symlink(filepath.Join(testdata, "bin/recorder"), h.path("stack/bin/slipway")))
	h.must(os.MkdirAll(h.path("stack/data/slipway"), 0o755))
	h.write("stack/data/slipway/k3s.kubeconfig", "k3s")
	return h
}

func (h *host) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) path(parts ...string) string {
	return filepath.Join(append([]string{h.work}, parts...)...)
}

func (h *host) write(name, text string) {
	h.t.Helper()
	h.must(os.MkdirAll(filepath.Dir(h.path(name)), 0o755))
	h.must(os.WriteFile(h.path(name), []byte(text), 0o600))
}

func (h *host) read(name string) string {
	h.t.Helper()
	text, err := os.ReadFile(h.path(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.t.Fatal(err)
	}
	return string(text)
}

// local writes local.conf, as devstack extracts it.
func (h *host) local(lines ...string) {
	h.write("devstack/.localrc.auto", strings.Join(lines, "\n")+"\n")
}

// run runs phases of stack.sh, unstack.sh or clean.sh, and returns the calls that they made
// and what was said.
func (h *host) run(phases ...string) (calls []string, said string, err error) {
	h.t.Helper()
	h.must(errors.Join(os.RemoveAll(h.path("log")), os.RemoveAll(h.path("variables"))))
	cmd := exec.CommandContext(h.t.Context(), "/bin/bash", append([]string{filepath.Join("testdata", "stack.sh")}, phases...)...)
	cmd.Env = h.env
	out, err := cmd.CombinedOutput()
	for line := range strings.Lines(strings.ReplaceAll(h.read("log"), h.work, "WORK")) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "== ") {
			calls = append(calls, line)
		}
	}
	return calls, string(out), err
}

func (h *host) variable(name string) string {
	for line := range strings.Lines(h.read("variables")) {
		if key, value, _ := strings.Cut(strings.TrimSpace(line), "="); key == name {
			return value
		}
	}
	return ""
}

// exported reports whether the program got a variable.
func (h *host) exported(name, value string) bool {
	return strings.Contains(h.read("environment"), fmt.Sprintf("declare -x %s=%q\n", name, value))
}

// allPhases are those of stack.sh, in its order.
var allPhases = []string{"stack pre-install", "stack install", "stack post-config", "stack extra", "stack test-config"}

// sweepCall is the call that ends what a stopped k3s left running.
const sweepCall = "slipway devstack sweep --dir WORK/stack/data/slipway"

// stopped are the calls that stop a unit.
func stopped(name string) []string {
	unit := "devstack@" + name + ".service"
	return []string{"systemctl stop " + unit, "systemctl disable " + unit}
}

// started are the calls that start a unit anew.
func started(name string, running bool) []string {
	unit := "devstack@" + name + ".service"
	calls := []string{"slipway devstack command " + name}
	if running {
		calls = append(calls, stopped(name)...)
	}
	return append(calls, "systemctl daemon-reload", "systemctl enable "+unit, "systemctl start "+unit)
}

// wanted are the calls of each phase. Those that only look are left out (quiet).
func wanted(phase string, running bool) []string {
	const admin = "openstack --os-cloud devstack-system-admin "
	switch phase {
	case "stack pre-install":
		return []string{"go build -ldflags -s -w -o WORK/stack/bin/slipway ./cmd/slipway", "slipway devstack check",
			"sysctl -q -w fs.inotify.max_user_instances=8192 fs.inotify.max_user_watches=524288"}
	case "stack install":
		return []string{"slipway devstack trust", "slipway devstack missing", "slipway devstack equip --progress plain"}
	case "stack post-config":
		calls := []string{"slipway devstack trust --keystone", "slipway devstack configure", "slipway devstack firewall",
			admin + "user create slipway --password secret --domain=Default --or-show -f value -c id",
			admin + "role add service --user slipway --project service --user-domain Default --project-domain Default",
			admin + "user create slipway-admin --password secret --domain=Default --or-show -f value -c id",
			admin + "role add service --user slipway-admin --project service --user-domain Default --project-domain Default",
			admin + "role add admin --user slipway-admin --project service --user-domain Default --project-domain Default"}
		if !running {
			calls = append(calls, admin+"service create container-infra --name magnum --description=Container Infrastructure Management Service -f value -c id")
		}
		for _, face := range []string{"public", "admin", "internal"} {
			calls = append(calls, admin+"endpoint create container-infra "+face+" http://192.0.2.7:9511/v1 --region RegionOne -f value -c id")
		}
		if running {
			calls = append(calls, stopped("slipway-k3s")...)
		}
		calls = append(calls, sweepCall)
		return append(calls, started("slipway-k3s", false)...)
	case "stack extra":
		calls := []string{"slipway devstack prepare", "slipway devstack install --progress plain",
			"slipway image sync -m WORK/stack/data/slipway/images.yaml --bundle WORK/stack/slipway-bundle --cloud devstack-admin --progress plain"}
		calls = append(append(calls, started("slipway-controllers", running)...), started("slipway-api", running)...)
		return append(calls, "slipway template sync -t WORK/stack/data/slipway/templates.yaml --cloud devstack-admin --progress plain")
	case "stack test-config":
		return []string{"slipway devstack tempest"}
	case "unstack":
		calls := []string{"slipway devstack unstack --timeout 15m"}
		for _, name := range []string{"slipway-api", "slipway-controllers", "slipway-k3s"} {
			calls = append(calls, stopped(name)...)
		}
		return append(calls, sweepCall)
	case "clean":
		return []string{"slipway devstack clean --dir WORK/stack/data/slipway"}
	}
	return nil
}

// changing leaves out what only looks.
func changing(calls []string) []string {
	return slices.DeleteFunc(slices.Clone(calls), func(call string) bool {
		return strings.Contains(call, " role assignment list ") || strings.Contains(call, " endpoint list ") || strings.Contains(call, " service show ") ||
			strings.HasPrefix(call, "systemctl is-enabled") || strings.HasPrefix(call, "curl ")
	})
}

// sorted are calls without regard to their order: devstack makes an endpoint's interfaces in
// an order of its own.
func sorted(calls []string) string {
	slices.Sort(calls)
	return strings.Join(calls, "\n")
}
