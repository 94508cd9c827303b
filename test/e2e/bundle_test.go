// Package e2e tries what was built: real programs of a real bundle. `make e2e`
// runs it as root; without a bundle every test is skipped.
package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client"

	"github.com/slipway-sh/slipway/addons/clusterctl"
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
	program, err := filepath.Abs("../../bin/slipway")
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if said := run(t, program, "bundle", "build", "--dir", bundleDir(t)); !strings.Contains(said, " 0 built") && !strings.Contains(said, "\n0 built") {
		t.Error(said)
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

// TestContainerdImportsTheImages imports the archive that machines carry.
func TestContainerdImportsTheImages(t *testing.T) {
	folder := openBundle(t)
	if !isolate(t) {
		return
	}
	var images []bundle.Item
	for _, name := range []string{"pause", "coredns", "etcd"} {
		images = append(images, *folder.Bill().Item(name))
	}
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
	socket := filepath.Join(t.TempDir(), "containerd.sock")
	start(t, filepath.Join(folder.Dir(), "bin/containerd"), "--root", t.TempDir(), "--state", t.TempDir(), "--address", socket)
	ctr := filepath.Join(folder.Dir(), "bin/ctr")
	eventually(t, 30*time.Second, func() (string, bool) {
		out, err := exec.CommandContext(t.Context(), ctr, "--address", socket, "version").CombinedOutput()
		return string(out), err == nil
	})
	run(t, ctr, "--address", socket, "--namespace", "k8s.io", "images", "import", "--local", "--no-unpack", archive)
	listed := run(t, ctr, "--address", socket, "--namespace", "k8s.io", "images", "list", "-q")
	for _, image := range images {
		if !strings.Contains(listed, image.Ref+"\n") {
			t.Errorf("containerd has no %s:\n%s", image.Ref, listed)
		}
	}
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
