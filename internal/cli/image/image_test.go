package image

import (
	"bytes"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/images"
	"github.com/slipway-sh/slipway/images/imagetest"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/internal/ui"
)

// box is a sandbox that the process's environment names; tests with it are one
// after the other.
func box(t *testing.T) string {
	t.Helper()
	sandbox := sandboxtest.Start(t)
	t.Setenv("OS_CLIENT_CONFIG_FILE", sandbox.CloudsYAML())
	for _, name := range []string{"OS_CLOUD", "OS_REGION_NAME", "OS_INTERFACE", "OS_CLIENT_SECURE_FILE"} {
		t.Setenv(name, "")
	}
	dir := t.TempDir()
	t.Chdir(dir)
	return dir
}

func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out, progress bytes.Buffer
	cmd := New(ui.Streams{In: strings.NewReader("n\n"), Out: &out, Err: &progress})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func manifestOf(t *testing.T, name string, image []byte) {
	t.Helper()
	sum := sha512.Sum512(image)
	write(t, name+".qcow2", image)
	write(t, "images.yaml", []byte(`apiVersion: slipway.sh/v1alpha1
kind: Images
spec:
  retire: {keep: 0, deleteAfter: 0s}
  images:
    - {name: `+name+`, file: `+name+`.qcow2, sha512: `+hex.EncodeToString(sum[:])+`, kubernetesVersion: v1.34.2, os: {distro: ubuntu}}
`))
}

func TestSyncListVerifyPrune(t *testing.T) {
	box(t)
	manifestOf(t, "node", imagetest.Qcow2(imagetest.Disk(1, 2), imagetest.Options{}))
	cloud := []string{"--cloud", "sandbox"}
	command := func(args ...string) (string, error) { return run(t, append(args, cloud...)...) }
	if text, err := command("verify"); fault.ExitCode(err) != fault.ExitFailure || !strings.Contains(text, "no image has its content") {
		t.Errorf("verify before: %s (%v)", text, err)
	}
	text, err := command("sync", "-o", "json")
	var results []images.Result
	if jsonErr := json.Unmarshal([]byte(text), &results); err != nil || jsonErr != nil || len(results) != 1 || results[0].ID == "" || !results[0].Changed {
		t.Fatalf("sync: %s (%v, %v)", text, err, jsonErr)
	}
	if text, err := command("sync"); err != nil || !strings.Contains(text, "0 changed, 1 unchanged") {
		t.Errorf("sync again: %s (%v)", text, err)
	}
	if text, err := command("list", "--wide"); err != nil || !strings.Contains(text, "1.34.2") || !strings.Contains(text, results[0].ID) {
		t.Errorf("list: %s (%v)", text, err)
	}
	if text, err := command("verify", "--content"); err != nil || !strings.Contains(text, "all images match the manifest") {
		t.Errorf("verify: %s (%v)", text, err)
	}
	manifestOf(t, "next", imagetest.Qcow2(imagetest.Disk(2, 2), imagetest.Options{}))
	if text, err := command("prune", "--dry-run"); err != nil || !strings.Contains(text, "hide") {
		t.Errorf("dry run: %s (%v)", text, err)
	}
	if _, err := command("prune"); fault.ExitCode(err) != fault.ExitUsage {
		t.Errorf("not confirmed: %v", err)
	}
	for range 2 { // hides, then deletes
		if _, err := command("prune", "--yes"); err != nil {
			t.Error(err)
		}
	}
	if text, err := command("list", "--all"); err != nil || strings.Contains(text, results[0].ID) {
		t.Errorf("list after: %s (%v)", text, err)
	}
}

func TestUploadOneImage(t *testing.T) {
	box(t)
	write(t, "a.qcow2", imagetest.Qcow2(imagetest.Disk(1, 2), imagetest.Options{}))
	args := []string{"upload", "a.qcow2", "--cloud", "sandbox", "--name", "a", "--convert", "raw", "--property", "hw_disk_bus=scsi"}
	if text, err := run(t, args...); err != nil || !strings.Contains(text, "1 changed") {
		t.Fatalf("upload: %s (%v)", text, err)
	}
	if text, err := run(t, args...); err != nil || !strings.Contains(text, "0 changed") {
		t.Errorf("upload again: %s (%v)", text, err)
	}
	if _, err := run(t, "upload", "a.qcow2", "--cloud", "sandbox", "--name", "b", "--property", "hw_disk_bus=ssd"); fault.ExitCode(err) != fault.ExitUsage {
		t.Errorf("a wrong property: %v", err)
	}
}

func TestManifestOfAnotherTool(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "manifest.json")
	write(t, file, []byte(`{"kube_1_34": {"name": "n", "url": "https://example.org/k.qcow2", "checksum_sha512": "`+strings.Repeat("ab", 64)+`", "kubernetes_version": "1.34.2"}}`))
	text, err := run(t, "manifest", "-m", file, "--only", "kube_1_34", "--visibility", "community")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "own.yaml"), []byte(text))
	if again, err := run(t, "manifest", "-m", filepath.Join(dir, "own.yaml")); err != nil || again != text {
		t.Errorf("read back (%v):\n%s\nwas\n%s", err, again, text)
	}
	if _, err := run(t, "manifest", "-m", filepath.Join(dir, "absent.yaml")); fault.Remedy(err) == "" {
		t.Errorf("no file: %v", err)
	}
}
