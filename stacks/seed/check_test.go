package seed

import (
	"archive/tar"
	"bytes"
	"maps"
	"os/exec"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/fault"
)

// unpack writes files into a folder by another process than this one: see volumeScript.
func unpack(t *testing.T, folder string, mode int64, files map[string]string) {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for name, text := range files {
		if text == "" {
			continue
		}
		err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: mode, Size: int64(len(text))})
		if _, err2 := w.Write([]byte(text)); err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
	}
	w.Close()
	cmd := exec.CommandContext(t.Context(), "tar", "--extract", "--no-same-owner", "--directory", folder)
	cmd.Stdin = &archive
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// throwAway is a machine that could be a seed: a root folder and its programs, with what a
// test puts on top. An empty text removes a file or a program.
type throwAway struct{ files, programs map[string]string }

func (m throwAway) facts(t *testing.T) Facts {
	t.Helper()
	root, bin := t.TempDir(), t.TempDir()
	files := map[string]string{
		"etc/os-release": "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n", "proc/1/comm": "systemd\n",
		"sys/fs/cgroup/cgroup.controllers": "cpuset cpu io memory hugetlb pids\n", "proc/filesystems": "nodev\tproc\nnodev\toverlay\n\text4\n",
		"usr/local/bin/.keep": "x", "usr/share/.keep": "x", "etc/systemd/system/.keep": "x", "var/lib/.keep": "x",
	}
	scripts := map[string]string{"uname": "echo x86_64", "modprobe": "exit 0", "findmnt": "echo rw,relatime", "systemctl": "exit 3", "sed": "exit 0"}
	maps.Copy(files, m.files)
	maps.Copy(scripts, m.programs)
	for _, name := range []string{"cat", "head", "grep", "sh"} { // of this system, and nothing else
		real, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		scripts[name] = "exec " + real + " \"$@\""
	}
	for name, text := range scripts {
		if text != "" {
			scripts[name] = "#!/bin/sh\n" + text + "\n"
		}
	}
	unpack(t, root, 0o644, files)
	unpack(t, bin, 0o755, scripts)
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", MachineFacts, "machine-facts", root, "10.42.0.0/16", "10.43.0.0/16", "uname", "modprobe", "sed")
	cmd.Env = []string{"PATH=" + bin}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	facts, err := ParseFacts(string(out))
	if err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	return facts
}

// Every hardening and every lack that keeps k3s from running is one cause with its fix, and
// nothing else is one.
func TestWhatKeepsAMachineFromBeingASeed(t *testing.T) {
	t.Parallel()
	type files = map[string]string
	firewalld := func(open string) map[string]string {
		return map[string]string{"systemctl": `[ "$3" = firewalld.service ]`, "firewall-cmd": `case "$*" in ` + open + `) exit 0 ;; esac; exit 1`}
	}
	for name, c := range map[string]struct {
		files, programs map[string]string
		needs           Needs
		cause, remedy   string
	}{
		"fit":                      {},
		"for this processor":       {needs: Needs{Architecture: "x86_64", CgroupV2: true}},
		"another processor":        {programs: files{"uname": "echo aarch64"}, needs: Needs{Architecture: "x86_64"}, cause: "its processor is aarch64, but the bundle is for x86_64", remedy: "x86_64"},
		"not systemd":              {files: files{"proc/1/comm": "init\n"}, cause: "its first process is init, not systemd", remedy: "image with systemd"},
		"a program":                {programs: files{"sed": ""}, cause: "it has no sed", remedy: "install the packages"},
		"cgroup v1 that is enough": {files: files{"sys/fs/cgroup/cgroup.controllers": ""}},
		"cgroup v1":                {files: files{"sys/fs/cgroup/cgroup.controllers": ""}, needs: Needs{CgroupV2: true}, cause: "it uses cgroup v1", remedy: "systemd.unified_cgroup_hierarchy=1"},
		"no memory controller":     {files: files{"sys/fs/cgroup/cgroup.controllers": "cpuset cpu io pids\n"}, cause: "cgroup v2 has no controller memory", remedy: "cgroup_disable"},
		"overlay can be loaded":    {files: files{"proc/filesystems": "\text4\n"}},
		"no modules":               {files: files{"proc/filesystems": "\text4\n"}, programs: files{"modprobe": "exit 1"}, cause: "its kernel has no module overlay, br_netfilter, nf_tables", remedy: "kernel-modules"},
		"one module":               {programs: files{"modprobe": `[ "$3" != br_netfilter ]`}, cause: "its kernel has no module br_netfilter", remedy: "kernel"},
		"older packet filter":      {programs: files{"modprobe": `[ "$3" != nf_tables ]`}},
		"modules that are loaded":  {files: files{"sys/module/br_netfilter/x": "1", "sys/module/nf_tables/x": "1"}, programs: files{"modprobe": "exit 1"}},
		"a container":              {files: files{"run/systemd/container": "x"}, programs: files{"modprobe": "exit 1"}},
		"noexec":                   {programs: files{"findmnt": `case "$5" in */var/lib/) echo rw,nosuid,noexec ;; *) echo rw ;; esac`}, cause: "no program may run from /var/lib: it is mounted with noexec", remedy: "without noexec"},
		"SELinux":                  {files: files{"sys/fs/selinux/enforce": "1"}},
		"firewalld":                {programs: firewalld("none"), cause: "firewalld is active and blocks 6443/tcp, 10.42.0.0/16, 10.43.0.0/16", remedy: "firewall-cmd --permanent --zone=trusted --add-source=10.43.0.0/16; firewall-cmd --reload"},
		"firewalld, port open":     {programs: firewalld("*6443*"), cause: "blocks 10.42.0.0/16, 10.43.0.0/16,", remedy: "systemctl disable --now firewalld"},
		"firewalld, all open":      {programs: firewalld("*")},
		"ufw":                      {programs: files{"ufw": `printf 'Status: active\n\nTo   Action  From\n22/tcp   ALLOW  Anywhere\nAnywhere  ALLOW  10.42.0.0/16\n'`}, cause: "ufw is active and blocks 6443/tcp, 10.43.0.0/16,", remedy: "ufw allow 6443/tcp; ufw allow from 10.43.0.0/16"},
		"ufw that is off":          {programs: files{"ufw": "echo Status: inactive"}},
		"ufw, all open":            {programs: files{"ufw": `printf 'Status: active\n\n6443/tcp   ALLOW  Anywhere\nAnywhere  ALLOW  10.42.0.0/16\nAnywhere ALLOW 10.43.0.0/16\n'`}},
		"a node":                   {programs: files{"systemctl": `[ "$3" = kubelet.service ]`}, cause: "kubelet.service runs, and k3s cannot run beside it", remedy: "systemctl disable --now kubelet.service"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			facts := throwAway{c.files, c.programs}.facts(t)
			all := fault.All(facts.Problems(c.needs))
			if c.cause == "" && len(all) > 0 || c.cause != "" && len(all) != 1 {
				t.Fatalf("found %q", all)
			}
			for _, err := range all {
				if !strings.Contains(err.Error(), c.cause) || !strings.Contains(err.Error(), "Debian GNU/Linux 12") || !strings.Contains(fault.Remedy(err), c.remedy) {
					t.Errorf("%v; %s", err, fault.Remedy(err))
				}
			}
		})
	}
}

// Root may write everywhere, so that folders that cannot be written to are judged here.
func TestAReadOnlyRootIsACause(t *testing.T) {
	t.Parallel()
	facts := throwAway{}.facts(t)
	facts.Denied = []string{"/usr/share", "/var/lib"}
	if err := facts.Problems(Needs{}); err == nil || !strings.Contains(err.Error(), "/usr/share, /var/lib cannot be written to") || fault.Remedy(err) == "" {
		t.Errorf("got %v", err)
	}
	facts.Rivals = []string{"kubelet.service"}
	if all := fault.All(facts.Problems(Needs{})); len(all) != 2 {
		t.Errorf("two causes: %q", all)
	}
}

// The bundle's image has k3s before anybody brought it.
func TestWhoseImageAMachineIs(t *testing.T) {
	t.Parallel()
	own := map[string]string{"etc/systemd/system/k3s.service": "x", "usr/share/slipway/k3s.conf": "x"}
	brought := maps.Clone(own)
	brought[strings.TrimPrefix(BroughtMark, "/")] = "x"
	for name, c := range map[string]struct {
		files map[string]string
		own   bool
	}{"bundle's": {own, true}, "another's": {nil, false}, "another's that has k3s by now": {brought, false}, "k3s of others": {map[string]string{"etc/systemd/system/k3s.service": "x"}, false}} {
		if got := (throwAway{files: c.files}).facts(t); got.Own != c.own {
			t.Errorf("%s: own is %t", name, got.Own)
		}
	}
}

func TestHalfAnAnswerIsRefused(t *testing.T) {
	t.Parallel()
	for _, out := range []string{"", "image=other\narchitecture=x86_64\n", "architecture=x86_64\n", "sh: not found\n"} {
		if _, err := ParseFacts(out); err == nil {
			t.Errorf("%q is taken", out)
		}
	}
}
