package devstack

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestPhasesCallExactlyTheirSteps runs every phase by itself, twice, with nothing set that
// local.conf need not set, and then what undoes them. Nothing before phase extra asks for
// more than Keystone: the recorder refuses that, and stack.sh would end.
//
// proves: D-02, D-03, D-05
func TestPhasesCallExactlyTheirSteps(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for _, running := range []bool{false, true} {
		for _, phase := range allPhases {
			calls, said, err := h.run(phase)
			if got, want := sorted(changing(calls)), sorted(wanted(phase, running)); err != nil || got != want {
				t.Errorf("%s, running before: %v: %v\n%s\nwanted\n%s\nsaid\n%s", phase, running, err, got, want, said)
			}
		}
	}
	for _, phase := range []string{"unstack", "clean"} {
		calls, said, err := h.run(phase)
		if got := changing(calls); err != nil || !slices.Equal(got, wanted(phase, true)) {
			t.Errorf("%s: %v, %q\nsaid\n%s", phase, err, got, said)
		}
	}
	if _, err := os.Lstat(h.path("stack/bin/slipway")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("clean left the program (%v)", err)
	}
	for _, phase := range []string{"unstack", "clean"} { // nothing is there any more
		if calls, said, err := h.run(phase); err != nil || len(changing(calls)) > 0 {
			t.Errorf("%s again: %v, %q\n%s", phase, err, calls, said)
		}
	}
}

// TestWhatIsNoPhaseDoesNothing gives the plugin unknown phases, and turns it off.
//
// proves: D-02
func TestWhatIsNoPhaseDoesNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		local  string
		phases []string
	}{
		"unknown":       {"", []string{"stack later", "stack", "override_defaults", "source", "restack extra", "unstack all", "clean install"}},
		"disabled":      {"disable_service slipway", allPhases},
		"disabled, end": {"disable_service slipway", []string{"unstack", "clean"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.local(test.local)
			if calls, said, err := h.run(test.phases...); err != nil || len(calls) > 0 {
				t.Errorf("%v: %q\n%s", err, calls, said)
			}
		})
	}
}

// TestPhasesInOneRun runs them as stack.sh does, in one shell.
func TestPhasesInOneRun(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	var want []string
	for _, phase := range allPhases {
		want = append(want, wanted(phase, false)...)
	}
	calls, said, err := h.run(allPhases...)
	if err != nil || sorted(changing(calls)) != sorted(want) {
		t.Errorf("%v: %s\n%s", err, strings.Join(calls, "\n"), said)
	}
	unit := h.read("systemd/devstack@slipway-k3s.service")
	for _, line := range []string{"User = root", "ExecStart = /opt/slipway-k3s --run", `Environment = "A=b"`} {
		if !strings.Contains(unit, line) {
			t.Errorf("the unit of k3s has no %q:\n%s", line, unit)
		}
	}
	if unit := h.read("systemd/devstack@slipway-api.service"); strings.Contains(unit, "User = root\n") && os.Geteuid() != 0 {
		t.Errorf("the API runs as root:\n%s", unit)
	}
	info, err := os.Stat(h.path("stack/data/slipway/kubeconfig"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the kubeconfig: %v (%v)", info, err)
	}
}

// TestLocalConfWins sets every setting of the plugin, and the defaults of devstack that it
// raises.
//
// proves: D-04
func TestLocalConfWins(t *testing.T) {
	t.Parallel()
	plain := newHost(t)
	if _, said, err := plain.run("stack test-config"); err != nil {
		t.Fatal(err, said)
	}
	if got := plain.variable("VOLUME_BACKING_FILE_SIZE") + " " + plain.variable("GLANCE_LIMIT_IMAGE_SIZE_TOTAL"); got != "50G 20000" {
		t.Errorf("the plugin's own defaults are %s", got)
	}
	settings, err := os.ReadFile("../../devstack/settings")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"GLANCE_LIMIT_IMAGE_SIZE_TOTAL": "7000", "VOLUME_BACKING_FILE_SIZE": "30G"} // devstack's own, asked for
	for line := range strings.Lines(string(settings)) {
		if name, _, assigned := strings.Cut(line, "="); assigned && strings.HasPrefix(line, "SLIPWAY_") {
			want[name] = "mine-" + strings.ToLower(name)
		}
	}
	if len(want) < 20 {
		t.Fatalf("settings: %v", want)
	}
	want["SLIPWAY_BIN"] = plain.path("stack/bin/slipway")
	for name := range want {
		if !strings.HasPrefix(name, "SLIPWAY_") {
			continue
		}
		if plain.variable(name) == want[name] && name != "SLIPWAY_BIN" {
			t.Errorf("%s is %s by default", name, want[name])
		}
	}
	h := newHost(t)
	want["SLIPWAY_BIN"] = h.path("stack/bin/slipway")
	var lines []string
	for name, value := range want {
		lines = append(lines, name+"="+value)
	}
	h.local(lines...)
	if _, said, err := h.run("stack test-config"); err != nil {
		t.Fatal(err, said)
	}
	for name, value := range want {
		if got := h.variable(name); got != value {
			t.Errorf("%s is %q, local.conf says %q", name, got, value)
		}
		if strings.HasPrefix(name, "SLIPWAY_") && !h.exported(name, value) {
			t.Errorf("%s does not reach the program", name)
		}
	}
}

// TestDownloadsHaveDigests takes the program from the web: once, and nothing else than
// what local.conf says. The second run has no network.
//
// proves: D-09
func TestDownloadsHaveDigests(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	program, err := os.ReadFile("testdata/bin/recorder")
	h.must(err)
	sum := sha256.Sum256(program)
	h.write("download", string(program))
	h.must(os.Remove(h.path("stack/bin/slipway")))
	conf := []string{"SLIPWAY_BINARY_URL=https://example.org/slipway", "SLIPWAY_BINARY_SHA256=" + hex.EncodeToString(sum[:])}
	h.local(conf...)
	calls, said, err := h.run("stack pre-install")
	if err != nil || !strings.HasPrefix(strings.Join(calls, "\n"), "wget ") {
		t.Fatalf("%v: %q\n%s", err, calls, said)
	}
	h.must(os.Remove(h.path("download")))
	h.local(append(conf, "OFFLINE=True")...)
	h.write("missing", "k3s\n") // what the bundle lacks is not fetched either
	calls, said, err = h.run("stack pre-install", "stack install")
	if err != nil || slices.ContainsFunc(calls, func(c string) bool { return strings.HasPrefix(c, "wget") || strings.Contains(c, "bundle ensure") }) {
		t.Errorf("offline: %v: %q\n%s", err, calls, said)
	}
	h.write("download", "something else")
	h.must(os.Remove(h.path("devstack/files/slipway")))
	h.local(conf...)
	calls, said, err = h.run("stack pre-install")
	if err == nil || !strings.Contains(said, "SLIPWAY_BINARY_SHA256") || slices.Contains(calls, "slipway devstack check") {
		t.Errorf("other bytes: %v: %q\n%s", err, calls, said)
	}
	if _, err := os.Stat(h.path("devstack/files/slipway")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the wrong file is kept for the next run (%v)", err)
	}
	if got, err := os.ReadFile(h.path("stack/bin/slipway")); err != nil || string(got) != string(program) {
		t.Errorf("the program was replaced by other bytes (%v)", err)
	}
}

func TestAnIncompleteBundleIsCompleted(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.write("missing", "k3s\nnode\n")
	calls, said, err := h.run("stack install")
	want := []string{"slipway devstack trust", "slipway devstack missing", "slipway bundle ensure --dir WORK/stack/slipway-bundle", "slipway devstack equip --progress plain"}
	if err != nil || !slices.Equal(calls, want) {
		t.Errorf("%v: %q\n%s", err, calls, said)
	}
}

// TestTackerIsJoinedWhereItIs: only with the service of Tacker's plugin.
func TestTackerIsJoinedWhereItIs(t *testing.T) {
	t.Parallel()
	const step = "slipway devstack tacker --progress plain"
	for services, want := range map[string]bool{"key,n-api": false, "key,n-api,tacker": true} {
		h := newHost(t)
		h.local("SLIPWAY_TACKER=True")
		h.env = append(h.env, "ENABLED_SERVICES="+services)
		calls, said, err := h.run("stack extra")
		if err != nil || slices.Contains(calls, step) != want || want && (!h.exported("SLIPWAY_TACKER", "True") || !h.exported("SLIPWAY_TACKER_TYPES", h.path("stack/tacker"))) {
			t.Errorf("with %s: %v: %q\n%s", services, err, calls, said)
		}
	}
}

// TestAFailedExternalClusterHasNoLogHere: the plugin's k3s has no part in it.
func TestAFailedExternalClusterHasNoLogHere(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.local("SLIPWAY_MODE=external\nSLIPWAY_KUBECONFIG=/etc/kubernetes/admin.conf")
	h.env = append(h.env, "FAIL=devstack install")
	calls, said, err := h.run("stack extra")
	if err == nil || calls[len(calls)-1] != "slipway devstack install --progress plain" || !strings.Contains(said, "Cluster API is not installed") {
		t.Errorf("%v: %q\n%s", err, calls, said)
	}
}

// TestAFailedStepEndsStack lets steps fail one by one: stack.sh ends there, with the log of
// the service whose fault it is.
func TestAFailedStepEndsStack(t *testing.T) {
	t.Parallel()
	for step, test := range map[string]struct{ phase, log string }{
		"devstack check":   {"stack pre-install", ""},
		"devstack trust":   {"stack install", ""},
		"devstack missing": {"stack install", ""},
		"devstack command": {"stack post-config", ""},
		"devstack install": {"stack extra", "slipway-k3s"},
		"image sync":       {"stack extra", ""},
		"template sync":    {"stack extra", ""},
		"devstack tempest": {"stack test-config", ""},
	} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.env = append(h.env, "FAIL="+step)
			calls, said, err := h.run(test.phase)
			if err == nil {
				t.Fatalf("stack.sh went on: %q\n%s", calls, said)
			}
			rest := calls[slices.IndexFunc(calls, func(c string) bool { return strings.HasPrefix(c, "slipway "+step) })+1:]
			if test.log == "" && len(rest) > 0 {
				t.Errorf("went on with %q", rest)
			}
			if test.log != "" && !slices.Equal(rest, []string{"journalctl --no-pager -n 50 -u devstack@" + test.log}) {
				t.Errorf("then %q\n%s", rest, said)
			}
		})
	}
	h := newHost(t)
	h.env = append(h.env, "FAIL=devstack unstack")
	calls, said, err := h.run("unstack")
	if err != nil || !strings.Contains(said, "not all clusters were deleted") || calls[len(calls)-1] != sweepCall {
		t.Errorf("unstack: %v: %q\n%s", err, calls, said)
	}
}

// TestAServiceThatDoesNotAnswerIsTold ends stack.sh with the last 50 lines of its log. The
// page names the units.
//
// proves: D-26
func TestAServiceThatDoesNotAnswerIsTold(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/get-started/devstack.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, service := range Services() {
		if !strings.Contains(string(page), "`devstack@"+service+"`") {
			t.Errorf("the page does not name the unit of %s", service)
		}
	}
	for service, address := range map[string]string{ServiceAPI: "http://192.0.2.7:9511/healthcheck", ServiceControllers: "http://" + controllerHealth + "/readyz"} {
		h := newHost(t)
		h.env = append(h.env, "SILENT="+address, "SERVICE_TIMEOUT=1")
		calls, said, err := h.run("stack extra")
		if err == nil || calls[len(calls)-1] != "journalctl --no-pager -n 50 -u devstack@"+service || !strings.Contains(said, "journalctl -u devstack@"+service) {
			t.Errorf("%s: %v: %q\n%s", service, err, calls, said)
		}
	}
	h := newHost(t)
	h.must(os.Remove(h.path("stack/data/slipway/k3s.kubeconfig")))
	h.must(os.Remove(h.path("bin/sudo"))) // nothing to wait five minutes with
	h.write("bin/sudo", "#!/bin/bash\n[[ $1 != journalctl ]] || echo \"$*\" >> $WORK/log\n[[ $1 != test ]]\n")
	h.must(os.Chmod(h.path("bin/sudo"), 0o755))
	h.write("bin/timeout", "#!/bin/bash\nexit 124\n")
	h.must(os.Chmod(h.path("bin/timeout"), 0o755))
	if calls, said, err := h.run("stack extra"); err == nil || !slices.Equal(calls, []string{"journalctl --no-pager -n 50 -u devstack@slipway-k3s"}) {
		t.Errorf("k3s that does not start: %v: %q\n%s", err, calls, said)
	}
}

// TestTheProgramGetsWhatDevstackKnows is about variables: the authorities with tls-proxy
// only, proxies, and no secret among arguments.
func TestTheProgramGetsWhatDevstackKnows(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.env = append(h.env, "http_proxy=http://proxy:3128", "no_proxy=example.org", "ENABLED_SERVICES=key,tls-proxy", "SERVICE_PROTOCOL=https", "SERVICE_PASSWORD=hidden")
	calls, said, err := h.run("stack install")
	for name, value := range map[string]string{"SLIPWAY_CA": h.path("stack/data/ca-bundle.pem"), "SLIPWAY_CERTIFICATE": h.path("stack/data/devstack-cert.pem"),
		"http_proxy": "http://proxy:3128", "no_proxy": "example.org", "SERVICE_PASSWORD": "hidden", "HOST_IP": "192.0.2.7"} {
		if err != nil || !h.exported(name, value) {
			t.Errorf("%v: %s is not %s in\n%s\n%s", err, name, value, h.read("environment"), said)
		}
	}
	for _, call := range calls {
		if strings.HasPrefix(call, "slipway ") && strings.Contains(call, "hidden") {
			t.Errorf("the password is an argument: %s", call)
		}
	}
	h = newHost(t)
	if _, said, err := h.run("stack install"); err != nil || !h.exported("SLIPWAY_CA", "") {
		t.Errorf("without tls-proxy: %v\n%s\n%s", err, h.read("environment"), said)
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.local("SLIPWAY_MODE=external", "SLIPWAY_KUBECONFIG=/etc/kubernetes/admin.conf")
	calls, said, err := h.run(append(slices.Clone(allPhases), "unstack")...)
	if err != nil || slices.ContainsFunc(calls, func(c string) bool {
		return strings.Contains(c, "slipway-k3s") || strings.HasPrefix(c, "sysctl")
	}) {
		t.Errorf("external: %v: %q\n%s", err, calls, said)
	}
	h = newHost(t)
	h.local("SLIPWAY_MODE=kind")
	calls, said, err = h.run(append(slices.Clone(allPhases), "unstack")...)
	made := slices.Index(calls, "slipway devstack cluster --progress plain")
	if err != nil || made < slices.Index(calls, "slipway devstack firewall") || made > slices.Index(calls, "slipway devstack install --progress plain") ||
		!slices.ContainsFunc(calls, func(c string) bool { return strings.HasPrefix(c, "sysctl") }) || slices.ContainsFunc(calls, func(c string) bool { return strings.Contains(c, "slipway-k3s") }) {
		t.Errorf("kind: %v: %q\n%s", err, calls, said)
	}
	h = newHost(t)
	h.local("disable_service slipway-api")
	calls, said, err = h.run(allPhases...)
	if err != nil || slices.ContainsFunc(calls, func(c string) bool {
		return strings.Contains(c, "slipway-api") || strings.Contains(c, "template") || strings.Contains(c, "container-infra")
	}) {
		t.Errorf("without the API: %v: %q\n%s", err, calls, said)
	}
	h = newHost(t)
	h.env = append(h.env, "ENABLED_SERVICES=key,magnum-api")
	if _, said, err := h.run("stack pre-install"); err == nil || !strings.Contains(said, "disable_service slipway-api") {
		t.Errorf("beside Magnum: %v\n%s", err, said)
	}
	h = newHost(t)
	h.env = append(h.env, "ENABLED_SERVICES=key")
	if calls, said, err := h.run("stack test-config"); err != nil || len(calls) > 0 {
		t.Errorf("without Tempest: %v: %q\n%s", err, calls, said)
	}
}

// TestTempestIsConfigured looks at the file: each option in section [magnum].
func TestTempestIsConfigured(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	if _, said, err := h.run("stack test-config"); err != nil {
		t.Fatal(err, said)
	}
	text := strings.ReplaceAll(h.read("tempest.conf"), "[magnum]\n", "magnum ")
	for _, want := range []string{"image_id = 1234", "nic_id = public"} {
		if !strings.Contains(text, want) || !strings.Contains(text, "magnum ") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// TestScriptsAreClean checks what devstack sources, and what the tests do.
//
// proves: D-01
func TestScriptsAreClean(t *testing.T) {
	t.Parallel()
	files := []string{"../../devstack/override-defaults", "../../devstack/settings", "../../devstack/plugin.sh", "testdata/functions.sh", "testdata/stack.sh", "testdata/bin/recorder"}
	for _, file := range files {
		if out, err := exec.CommandContext(t.Context(), "bash", "-n", file).CombinedOutput(); err != nil {
			t.Errorf("bash -n %s: %v\n%s", file, err, out)
		}
	}
	if _, err := exec.LookPath("shellcheck"); err != nil {
		t.Skip("Debian's package shellcheck is not installed: run make deps")
	}
	if out, err := exec.CommandContext(t.Context(), "shellcheck", files...).CombinedOutput(); err != nil {
		t.Errorf("shellcheck: %v\n%s", err, out)
	}
}
