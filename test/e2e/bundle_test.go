// Package e2e tries what was built: real programs of a real bundle. `make e2e`
// runs it as root; without a bundle every test is skipped.
package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client"

	"github.com/slipway-sh/slipway/addons/clusterctl"
	"github.com/slipway-sh/slipway/internal/bootdisk"
	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/cli"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// slipway runs a command line and returns its exit code and what it printed.
func slipway(t *testing.T, args ...string) (code fault.Exit, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	streams := ui.Streams{In: strings.NewReader(""), Out: &out, Err: &err}
	code = cli.Report(streams, cli.Run(t.Context(), streams, args))
	return code, out.String(), err.String()
}

// TestDamageIsFoundAndRepaired flips a byte of a small item, as a bad disk would.
func TestDamageIsFoundAndRepaired(t *testing.T) {
	// proves: F19, S-24
	dir := bundleDir(t)
	if code, _, stderr := slipway(t, "bundle", "verify", "--dir", dir); code != fault.ExitOK {
		t.Fatalf("a fresh bundle: exit code %d\n%s", code, stderr)
	}
	const name = "cluster-api-metadata"
	path := filepath.Join(dir, "providers/cluster-api", component.ClusterAPIVersion, "metadata.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(text)
	damaged[10] ^= 1
	if err := os.WriteFile(path, damaged, 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := slipway(t, "bundle", "verify", "--dir", dir)
	if code != fault.ExitFailure || !strings.Contains(stderr, name) || !strings.Contains(stderr, "--only "+name) {
		t.Errorf("damaged bundle: exit code %d, said\n%s", code, stderr)
	}
	if code, _, stderr := slipway(t, "bundle", "build", "--dir", dir, "--only", name); code != fault.ExitOK {
		t.Fatalf("repairing: exit code %d\n%s", code, stderr)
	}
	if code, _, stderr := slipway(t, "bundle", "verify", "--dir", dir); code != fault.ExitOK {
		t.Errorf("repaired bundle: exit code %d\n%s", code, stderr)
	}
	if repaired, err := os.ReadFile(path); err != nil || !bytes.Equal(repaired, text) {
		t.Errorf("the repaired file differs (%v)", err)
	}
}

// TestNothingChangedTakesNoTime asks the program that made the bundle: another
// one, such as this test's, would put itself into it.
func TestNothingChangedTakesNoTime(t *testing.T) {
	program := builtProgram(t)
	begin := time.Now()
	if said := run(t, program, "bundle", "build", "--dir", bundleDir(t)); !strings.HasPrefix(said, "0 built, ") {
		t.Errorf("said %q: a table of what was built, where nothing is to be built", said)
	}
	t.Logf("took %s", time.Since(begin))
}

// TestKubeadmNamesTheImagesOfTheBundle: what kubeadm would pull must be there.
func TestKubeadmNamesTheImagesOfTheBundle(t *testing.T) {
	// proves: S-85
	folder := openBundle(t)
	kubeadm := filepath.Join(folder.Dir(), "bin/kubeadm")
	if version := strings.TrimSpace(run(t, kubeadm, "version", "-o", "short")); version != component.KubernetesVersion {
		t.Errorf("kubeadm says %s, want %s", version, component.KubernetesVersion)
	}
	var refs []string
	for _, item := range folder.Bill().Items {
		refs = append(refs, item.Ref)
	}
	for _, ref := range strings.Fields(run(t, kubeadm, "config", "images", "list", "--kubernetes-version", component.KubernetesVersion)) {
		if !slices.Contains(refs, ref) {
			t.Errorf("the bundle has no %s", ref)
		}
	}
}

// TestEveryImageOfAManifestIsInTheBundle: what a manifest would pull must be there.
func TestEveryImageOfAManifestIsInTheBundle(t *testing.T) {
	// proves: S-85
	folder := openBundle(t)
	refs := map[string]bool{}
	for _, item := range folder.Bill().Items {
		refs[item.Ref] = true
	}
	count := 0
	for _, item := range folder.Bill().Items {
		if item.Kind != bundle.Manifest {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder.Dir(), item.Path))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			ref, isImage := strings.CutPrefix(strings.TrimLeft(strings.TrimSpace(line), "- "), "image: ")
			if !isImage || !strings.Contains(ref, "/") {
				continue
			}
			count++
			if !refs[strings.Trim(ref, `"'`)] {
				t.Errorf("%s uses %s, which is not in the bundle", item.Name, ref)
			}
		}
	}
	if count < 8 {
		t.Errorf("only %d images found in manifests", count)
	}
}

// TestClusterctlFindsItsProvidersWithoutNetwork has no network but loopback.
func TestClusterctlFindsItsProvidersWithoutNetwork(t *testing.T) {
	// proves: S-25
	folder := openBundle(t)
	if !isolate(t) {
		return
	}
	c, err := clusterctl.New(t.Context(), folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range component.Providers(component.DefaultVersions()) {
		components, err := c.GetProviderComponents(t.Context(), p.Name, v1alpha3.ProviderType(p.Type), client.ComponentsOptions{Version: p.Version})
		if err != nil {
			t.Errorf("%s: %v", p.Label, err)
			continue
		}
		if got := components.Images(); len(got) != 1 || !strings.HasSuffix(got[0], ":"+p.Version) {
			t.Errorf("%s uses %v, want one image of %s", p.Label, got, p.Version)
		}
	}
}

// TestK3sStarts runs the server of the bundle without an agent.
func TestK3sStarts(t *testing.T) {
	dir := bundleDir(t)
	if !isolate(t) {
		return
	}
	data := t.TempDir()
	kubeconfig := filepath.Join(data, "kubeconfig")
	start(t, filepath.Join(dir, "bin/k3s"), "server", "--disable-agent", "--data-dir", data, "--write-kubeconfig", kubeconfig,
		"--bind-address", "127.0.0.1", "--node-ip", "127.0.0.1", "--advertise-address", "127.0.0.1", "--disable", "traefik,servicelb,local-storage,metrics-server", "--flannel-backend", "none")
	kubectl := filepath.Join(dir, "bin/kubectl")
	eventually(t, 60*time.Second, func() (string, bool) {
		out, err := exec.CommandContext(t.Context(), kubectl, "--kubeconfig", kubeconfig, "get", "--raw", "/readyz").CombinedOutput()
		return string(out), err == nil && string(out) == "ok"
	})
	if version := run(t, kubectl, "--kubeconfig", kubeconfig, "version"); !strings.Contains(version, "Server Version: "+component.K3sVersion) {
		t.Errorf("versions:\n%s\nwant the server to be %s", version, component.K3sVersion)
	}
	eventually(t, 30*time.Second, func() (string, bool) {
		out, err := exec.CommandContext(t.Context(), kubectl, "--kubeconfig", kubeconfig, "-n", "kube-system", "get", "deployment", "coredns",
			"-o", "jsonpath={.spec.template.spec.containers[0].image}").CombinedOutput()
		component, _ := component.Find("coredns")
		return string(out), err == nil && string(out) == component.Ref
	})
}

// TestContainerdImportsTheImages imports what machines carry: an archive, and a folder by the program
// of the node image. The folder's contents are linked into containerd's store where that is on the same
// disk, and copied to another one.
func TestContainerdImportsTheImages(t *testing.T) {
	folder := openBundle(t)
	if !isolate(t) {
		return
	}
	var images []bundle.Item
	for _, name := range []string{"pause", "coredns", "etcd"} {
		images = append(images, *folder.Bill().Item(name))
	}
	t.Run("archive", func(t *testing.T) {
		archive := filepath.Join(t.TempDir(), "images.tar")
		file, err := os.Create(archive)
		if err != nil {
			t.Fatal(err)
		}
		if err := folder.WriteImageArchive(t.Context(), file, images); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		ctr, _ := runContainerd(t, folder, t.TempDir())
		ctr("images", "import", "--local", "--no-unpack", archive)
		expectImages(t, ctr, images)
	})
	layout := filepath.Join(t.TempDir(), "layout")
	if err := folder.WriteImageLayout(t.Context(), layout, images); err != nil {
		t.Fatal(err)
	}
	program := fromDisk(t, folder, "/usr/libexec/slipway/import-images")
	for name, linked := range map[string]bool{"folder": true, "folder on another disk": false} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if !linked {
				root = filepath.Join(root, "disk")
				if err := errors.Join(os.Mkdir(root, 0o700), unix.Mount("tmpfs", root, "tmpfs", 0, "")); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = unix.Unmount(root, unix.MNT_DETACH) }) // the test's own mounts
			}
			ctr, socket := runContainerd(t, folder, root)
			for range 2 { // a machine that is switched off in the middle does it again
				run(t, program, "-address", socket, "-root", root, layout)
			}
			expectImages(t, ctr, images)
			expectContents(t, layout, root, linked)
		})
	}
}

// runContainerd starts the bundle's containerd, and returns its ctr in Kubernetes' namespace.
func runContainerd(t *testing.T, folder *bundle.Folder, root string) (ctr func(args ...string) string, socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "containerd.sock")
	start(t, filepath.Join(folder.Dir(), "bin/containerd"), "--root", root, "--state", t.TempDir(), "--address", socket)
	ctr = func(args ...string) string {
		t.Helper()
		return run(t, filepath.Join(folder.Dir(), "bin/ctr"), append([]string{"--address", socket, "--namespace", "k8s.io"}, args...)...)
	}
	eventually(t, 30*time.Second, func() (string, bool) {
		out, err := exec.CommandContext(t.Context(), filepath.Join(folder.Dir(), "bin/ctr"), "--address", socket, "version").CombinedOutput()
		return string(out), err == nil
	})
	return ctr, socket
}

// expectImages wants containerd to have the images with all of their contents.
func expectImages(t *testing.T, ctr func(args ...string) string, images []bundle.Item) {
	t.Helper()
	checked := ctr("images", "check")
	for _, image := range images {
		complete := func(line string) bool {
			return strings.HasPrefix(line, image.Ref+" ") && strings.Contains(line, " complete (")
		}
		if !slices.ContainsFunc(strings.Split(checked, "\n"), complete) {
			t.Errorf("containerd has no complete %s:\n%s", image.Ref, checked)
		}
	}
}

// expectContents wants containerd's store to have the layout's contents, and nothing else.
func expectContents(t *testing.T, layout, root string, linked bool) {
	t.Helper()
	const blobs = "blobs/sha256"
	store := filepath.Join(root, "io.containerd.content.v1.content")
	list := func(dir string) (names []string) {
		entries, err := os.ReadDir(filepath.Join(dir, blobs))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		return names
	}
	if got, want := list(store), list(layout); !slices.Equal(got, want) {
		t.Errorf("containerd's contents are %v, want %v", got, want)
	}
	for _, name := range list(layout) {
		ours, err := os.Stat(filepath.Join(layout, blobs, name))
		if err != nil {
			t.Fatal(err)
		}
		if its, err := os.Stat(filepath.Join(store, blobs, name)); err != nil || os.SameFile(ours, its) != linked || its.Size() != ours.Size() {
			t.Errorf("%s: linked is %t, want %t; %d bytes, want %d (%v)", name, !linked, linked, its.Size(), ours.Size(), err)
		}
	}
}

// fromDisk is a copy of a program on the disk of nodes.
func fromDisk(t *testing.T, folder *bundle.Folder, path string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), filepath.Base(path))
	disk := fmt.Sprintf("%s?offset=%d", filepath.Join(folder.Dir(), "machines/node.raw"), bootdisk.RootOffset)
	said := run(t, "debugfs", "-R", "dump -p "+path+" "+program, disk)
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return program
}

// eventually tries until the condition holds, and tells what it saw last.
func eventually(t *testing.T, limit time.Duration, condition func() (saw string, ok bool)) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		saw, ok := condition()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %s; the last answer was: %s", limit, saw)
		}
		time.Sleep(300 * time.Millisecond)
	}
}
