package environment

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestImagesOnARealGlance brings an image of a manifest twice, looks at it with
// Debian's client, finds another image under its name refused, and leaves no
// image behind.
func TestImagesOnARealGlance(t *testing.T) {
	p := newProject(t)
	before := p.Count("glance.images owner = ? AND deleted = 0")
	raw := make([]byte, 3<<20)
	_, _ = rand.Read(raw)
	name := "real-" + strings.ToLower(rand.Text()[:8])
	manifest := fmt.Sprintf("apiVersion: slipway.sh/v1alpha1\nkind: Images\nspec:\n  images:\n"+
		"    - {name: %s, file: image.raw, format: raw, sha256: %x, kubernetesVersion: v1.34.4, os: {distro: debian}}\n", name, sha256.Sum256(raw))
	for file, text := range map[string][]byte{"image.raw": raw, "images.yaml": []byte(manifest)} {
		if err := os.WriteFile(filepath.Join(p.Folder, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		if t.Failed() {
			_ = p.Client("image", "delete", name).Run()
		}
	}()
	for _, want := range []string{`"action": "upload"`, `"action": "use"`} {
		out := p.Do("image", "sync", "--cloud", "devcloud", "-o", "json")
		if !strings.Contains(out, want) {
			t.Errorf("sync says %s, want %s", out, want)
		}
	}
	var shown struct {
		Status     string
		Properties map[string]any
	}
	text := p.OpenStack("image", "show", name, "-f", "json", "-c", "status", "-c", "properties")
	if err := json.Unmarshal([]byte(text), &shown); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if shown.Status != "active" || shown.Properties["kube_version"] != "v1.34.4" || shown.Properties["os_distro"] != "debian" {
		t.Errorf("Glance has %+v", shown)
	}
	p.Do("image", "verify", "--cloud", "devcloud")
	// The same name with other bytes: refused, and nothing half-made.
	was := fmt.Sprintf("%x", sha256.Sum256(raw))
	raw[0]++
	other := strings.Replace(manifest, was, fmt.Sprintf("%x", sha256.Sum256(raw)), 1)
	if err := os.WriteFile(filepath.Join(p.Folder, "image.raw"), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.Folder, "images.yaml"), []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := p.Command("image", "sync", "--cloud", "devcloud").CombinedOutput(); err == nil || !strings.Contains(string(out), name) {
		t.Errorf("other bytes under the name: %v\n%s", err, out)
	}
	p.OpenStack("image", "delete", name)
	if after := p.Count("glance.images owner = ? AND deleted = 0"); after != before {
		t.Errorf("%s images, before there were %s", after, before)
	}
}
