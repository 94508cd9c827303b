// Package localseedtest makes a place for tests of local seeds: a Podman of its own, in
// namespaces of the test, that leaves nothing on the host.
package localseedtest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// wrapper runs runc without CAP_SYS_RESOURCE, which processes of some machines lack: there
// runc cannot give it to a privileged container. kind's nodes do without it.
const wrapper = `#!/usr/bin/python3
import json, os, sys
def strip(path):
    try:
        with open(path) as f:
            config = json.load(f)
    except OSError:
        return
    for kind, names in (config.get("process", config).get("capabilities") or {}).items():
        config.get("process", config)["capabilities"][kind] = [n for n in names if n != "CAP_SYS_RESOURCE"]
    with open(path, "w") as f:
        json.dump(config, f)
args = sys.argv[1:]
for i, word in enumerate(args):
    if word in ("--bundle", "-b"):
        strip(os.path.join(args[i + 1], "config.json"))
    if word in ("--process", "-p"):
        strip(args[i + 1])
os.execv(%q, ["runc"] + args)
`

const containersConf = `[containers]
log_driver = "k8s-file"
[engine]
runtime = "wrapped"
cgroup_manager = "cgroupfs"
events_logger = "file"
static_dir = "%[1]s/libpod"
tmp_dir = "%[1]s/run/libpod"
volume_path = "%[1]s/volumes"
[engine.runtimes]
wrapped = ["%[1]s/runc-wrapper"]
[network]
network_backend = "netavark"
network_config_dir = "%[1]s/networks"
`

const storageConf = `[storage]
driver = "overlay"
graphroot = "%[1]s/storage"
runroot = "%[1]s/run/storage"
`

// Enter makes a Podman in a folder of the test, and returns the variables with which it is
// used; runc is a program that is copied. The test must be in namespaces of its own for
// mounts, processes and the network. It skips if there is no Podman.
func Enter(t *testing.T, runc string) []string {
	t.Helper()
	if _, err := exec.LookPath("podman"); err != nil {
		t.Skip("there is no podman: run make kind-test")
	}
	dir := t.TempDir()
	env := Podman(t, dir, runc)
	// kind mounts the host's kernel modules, and Podman keeps network namespaces here.
	if _, err := os.Stat("/lib/modules"); err != nil {
		overlay := fmt.Sprintf("lowerdir=/usr/lib,upperdir=%s,workdir=%s", t.TempDir(), t.TempDir())
		if err := unix.Mount("overlay", "/usr/lib", "overlay", 0, overlay); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir("/usr/lib/modules", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll("/run/netns", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", "/run/netns", "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd := exec.Command("podman", "system", "reset", "--force")
		cmd.Env = append(os.Environ(), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Logf("podman system reset: %v\n%s", err, out)
		}
		// What is left is in namespaces that end with the test; its mounts would keep the
		// test's folders.
		for unix.Unmount(filepath.Join(dir, "storage/overlay"), unix.MNT_DETACH) == nil {
		}
	})
	return env
}

// Podman configures a Podman whose files are all in a folder, and returns the variables with
// which it is used; runc is a program that is copied.
func Podman(t *testing.T, dir, runc string) []string {
	t.Helper()
	copyFile(t, runc, filepath.Join(dir, "runc"))
	write(t, filepath.Join(dir, "runc-wrapper"), fmt.Sprintf(wrapper, filepath.Join(dir, "runc")), 0o755)
	write(t, filepath.Join(dir, "containers.conf"), fmt.Sprintf(containersConf, dir), 0o644)
	write(t, filepath.Join(dir, "storage.conf"), fmt.Sprintf(storageConf, dir), 0o644)
	return []string{"CONTAINERS_CONF=" + filepath.Join(dir, "containers.conf"), "CONTAINERS_STORAGE_CONF=" + filepath.Join(dir, "storage.conf"), "KIND_EXPERIMENTAL_PROVIDER=podman"}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}
