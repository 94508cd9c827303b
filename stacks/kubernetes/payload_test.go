package kubernetes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/remote"
	"github.com/slipway-sh/slipway/stacks/seed"
	"github.com/slipway-sh/slipway/test/foreignimage/machine"
)

// standIns are the programs of a machine that booted: they note their calls.
func standIns(cloudInit string) map[string]string {
	return map[string]string{
		"cloud-init": cloudInit,
		"sysctl":     "exit 0",
		"systemctl": `case "$1" in
is-active) exit 3 ;;
show) printf 'Id=slipway-data.service\nLoadState=loaded\nActiveState=active\n\nNRestarts=0\nId=k3s.service\nLoadState=loaded\nActiveState=active\n' ;;
*) echo "$*" >>/var/log/calls ;;
esac`,
	}
}

// debian is a machine of Debian's packages, and a bundle.
func debian(t *testing.T, cloudInit string) (host, *bundle.Folder) {
	t.Helper()
	dir := os.Getenv("SLIPWAY_BUNDLE")
	if dir == "" {
		t.Skip("SLIPWAY_BUNDLE names no bundle")
	}
	folder, err := bundle.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	target := machine.Start(t, "", func(root string) {
		for name, text := range standIns(cloudInit) {
			if err := os.WriteFile(filepath.Join(root, "usr/local/sbin", name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	})
	m, err := remote.Await(t.Context(), target, remote.Patience{Refused: time.Minute, Silent: time.Minute}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return host{m}, folder
}

// ask runs a command on the machine.
func (h host) ask(t *testing.T, command string) string {
	t.Helper()
	out, err := h.Run(t.Context(), "sh", "-c", command)
	if err != nil {
		t.Errorf("%s: %v", command, err)
	}
	return out
}

// TestASeedOfDebian brings a whole bundle to a machine of Debian's packages: once, then
// only what changed; and nothing to a machine that cannot be a seed.
func TestASeedOfDebian(t *testing.T) {
	h, folder := debian(t, `echo "status: error"; echo "detail: ('ntp', Exception('no network'))"; exit 1`)
	in := K3sInputs{Login: Login{User: "debian"}, Payload: "x", Networks: []string{"10.42.0.0/16", "10.43.0.0/16"}, VolumeGiB: 1}
	k3s := folder.Bill().Item("k3s")
	files := []seed.File{{Path: "/etc/slipway/k3s.sha256", Mode: "0644", Content: k3s.SHA256 + "  /usr/local/bin/k3s\n", OfImage: true},
		{Path: "/etc/rancher/k3s/config.yaml.d/10-slipway.yaml", Mode: "0600", Content: "a: b\n", Restarts: true}}
	settle := func(want string) string {
		t.Helper()
		h.ask(t, ": >/var/log/calls")
		start := time.Now()
		err := h.settle(t.Context(), in, files, folder)
		t.Logf("settled after %s: %v", time.Since(start).Round(time.Millisecond), err)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || fault.Remedy(err) == "") {
			t.Fatalf("got %v, want %q", err, want)
		}
		return h.ask(t, "cat /var/log/calls")
	}
	if calls := settle(""); calls != "stop k3s.service\ndaemon-reload\nenable slipway-container.service slipway-data.service k3s.service\n"+
		"restart systemd-modules-load.service\nstart slipway-container.service\nstart --no-block k3s.service\n" {
		t.Errorf("the first time it called:\n%s", calls)
	}
	const whole = `set -e
sha256sum --check --quiet /etc/slipway/k3s.sha256
test -e /etc/slipway/brought
/usr/local/bin/k3s --version
tar tf /usr/share/slipway/images/management.tar | grep -c blobs/sha256/
/usr/libexec/slipway/sbin/iptables --version
/usr/libexec/slipway/helm version --short
find /usr -name '*.part*' -o -name '*.writer'`
	if got := h.ask(t, whole); !strings.Contains(got, k3s.Version) || !strings.Contains(got, "iptables v1.") || strings.Contains(got, ".part") {
		t.Errorf("the machine has:\n%s", got)
	}
	const times = "stat --format '%n %i %y' /usr/local/bin/* /usr/share/slipway/images/* /usr/libexec/slipway/*"
	before := h.ask(t, times)
	if calls := settle(""); strings.Contains(calls, "stop") || h.ask(t, times) != before {
		t.Errorf("the second time it called:\n%s\nand the files were\n%s\nand are\n%s", calls, before, h.ask(t, times))
	}
	h.ask(t, "echo damaged >>/usr/local/bin/kustomize")
	if calls := settle(""); !strings.Contains(calls, "stop k3s.service") || h.ask(t, "tail -n 1 /usr/local/bin/kustomize | grep -c damaged || true") != "0\n" {
		t.Errorf("a damaged file: it called\n%s", calls)
	}
	files[1].Content = "a: c\n"
	if calls := settle(""); !strings.Contains(calls, "stop k3s.service") {
		t.Errorf("a new setting: it called\n%s", calls)
	}
	// A run that ends before the restart leaves it to the next one.
	files[1].Content = "a: d\n"
	if _, err := h.write(t.Context(), files); err != nil {
		t.Fatal(err)
	}
	if calls := settle(""); !strings.Contains(calls, "stop k3s.service") {
		t.Errorf("after a run that ended too early: it called\n%s", calls)
	}
	if calls := settle(""); strings.Contains(calls, "stop k3s.service") {
		t.Errorf("and once more:\n%s", calls)
	}
	// So does one that ends after it brought a program.
	h.ask(t, "echo damaged >>/usr/local/bin/kustomize")
	if _, brought, err := h.equip(t.Context(), folder, in.Networks); err != nil || !brought {
		t.Fatalf("a damaged file: brought %t, %v", brought, err)
	}
	if calls := settle(""); !strings.Contains(calls, "stop k3s.service") {
		t.Errorf("after a run that ended when all was brought: it called\n%s", calls)
	}
	// A setting that is left out takes its file with it.
	with := []seed.File{{Path: "/etc/rancher/k3s/registries.yaml", Mode: "0600", Content: "configs: {}\n", Restarts: true},
		{Path: seed.OptionalFiles, Mode: "0644", Content: "/etc/rancher/k3s/registries.yaml\n"}}
	for _, c := range []struct {
		more []seed.File
		left string
	}{{with, "/etc/rancher/k3s/registries.yaml\n" + seed.OptionalFiles + "\n"}, {nil, ""}} {
		files = append(files[:2:2], c.more...)
		if calls := settle(""); !strings.Contains(calls, "stop k3s.service") {
			t.Errorf("with %d more files: it called\n%s", len(c.more), calls)
		}
		if got := h.ask(t, "ls /etc/rancher/k3s/registries.yaml "+seed.OptionalFiles+" 2>/dev/null || true"); got != c.left {
			t.Errorf("there are %q, want %q", got, c.left)
		}
	}
	h.ask(t, "mv /usr/bin/cmp /usr/bin/away; rm /usr/local/bin/kustomize")
	if calls := settle("it has no cmp"); calls != "" || h.ask(t, "ls /usr/local/bin/kustomize 2>/dev/null || echo none") != "none\n" {
		t.Errorf("an unfit machine: it called\n%s", calls)
	}
	in.Payload = ""
	settle("the first boot failed: ('ntp'")
	h.ask(t, "mv /usr/bin/sudo /usr/bin/sudo.away")
	if err := h.settle(t.Context(), in, files, folder); err == nil || !strings.Contains(err.Error(), "it cannot become root") {
		t.Errorf("without sudo: %v", err)
	}
}
