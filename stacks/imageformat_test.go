package stacks_test

import (
	"bytes"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/images/disk"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks"
	resources "github.com/slipway-sh/slipway/stacks/openstack"
)

// TestImagesArePackedOnTheWay: an environment that wants qcow2 uploads that, with the disk of
// the bundle in it; another format is another image, and the temporary file is gone.
func TestImagesArePackedOnTheWay(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	w := newWorld(t, sandboxtest.Start(t), plain)
	content := strings.Repeat("sixteen letters.", 1<<17)
	if err := w.newer(content); err != nil {
		t.Fatal(err)
	}
	w.env.Image.Format = "qcow2"
	w.up(t)
	first := w.uploadedImage(t)
	if first.DiskFormat != "qcow2" || first.SizeBytes >= int64(len(content)) {
		t.Errorf("format %s of %d bytes", first.DiskFormat, first.SizeBytes)
	}
	client, _ := w.clients.Image()
	stored := must[io.ReadCloser](t)(imagedata.Download(t.Context(), client, first.ID).Extract())
	defer stored.Close()
	whole := must[[]byte](t)(io.ReadAll(stored))
	raw := must[io.ReadCloser](t)(disk.RawReader(t.Context(), bytes.NewReader(whole)))
	defer raw.Close()
	if got := must[[]byte](t)(io.ReadAll(raw)); string(got) != content {
		t.Errorf("the cloud has another disk, of %d bytes", len(got))
	}
	if left := must[[]os.DirEntry](t)(os.ReadDir(temporary)); len(left) > 0 {
		t.Errorf("left in the temporary folder: %v", left)
	}
	if again := w.up(t); len(again.Changes) > 0 {
		t.Errorf("once more: %v", again.Changes)
	}
	w.loseState(t)
	w.up(t)
	if now := w.uploadedImage(t); now.ID != first.ID {
		t.Error("without its state it was uploaded again")
	}

	w.env.Image.Format = "raw"
	w.up(t) // the seed has the same disk and stays, and its image with it
	formats := map[string]int64{}
	for _, thing := range must[[]resources.Resource](t)(w.inventory.List(t.Context(), "prod")) {
		if thing.Step == stacks.StepImage {
			image := must[*images.Image](t)(images.Get(t.Context(), client, thing.ID).Extract())
			formats[image.DiskFormat] = image.SizeBytes
		}
	}
	if len(formats) != 2 || formats["raw"] != int64(len(content)) {
		t.Errorf("then there are %v", formats)
	}
}

func (w *world) uploadedImage(t *testing.T) *images.Image {
	t.Helper()
	client, _ := w.clients.Image()
	return must[*images.Image](t)(images.Get(t.Context(), client, w.only(t, stacks.StepImage).ID).Extract())
}

// TestTheBundleTellsTheDevices: Nova gives machines the devices that the kernel of the
// bundle's images has drivers for only if the images say so.
func TestTheBundleTellsTheDevices(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	const bill = `{"apiVersion": "slipway.sh/v1alpha1", "kind": "Bundle", "items": [
{"name": "seed", "kind": "machine", "version": "v1.34.1+k3s1", "path": "machines/seed.raw", "sha256": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "properties": {"hw_disk_bus": "virtio", "os_type": "linux", "kube_version": "v1.34.1+k3s1"}},
{"name": "node", "kind": "machine", "version": "v1.34.4", "path": "machines/node.raw", "sha256": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "properties": {"hw_disk_bus": "virtio", "os_type": "linux", "kube_version": "v1.34.4"}},
{"name": "pulled", "kind": "machine", "version": "v1.34.4", "path": "machines/pulled.qcow2", "sha256": "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"}]}`
	if err := os.WriteFile(filepath.Join(folder, "bundle.yaml"), []byte(bill), 0o600); err != nil {
		t.Fatal(err)
	}
	of := &config.Environment{}
	of.Spec.Bundle, of.Spec.ImageFormat = config.File(folder), "raw"
	for name, want := range map[string]struct {
		format     string
		properties map[string]string
	}{
		stacks.SeedImage: {"raw", map[string]string{"hw_disk_bus": "virtio", "os_type": "linux", "slipway_version": "v1.34.1+k3s1"}},
		stacks.NodeImage: {"raw", map[string]string{"hw_disk_bus": "virtio", "os_type": "linux", "slipway_version": "v1.34.4", "kube_version": "v1.34.4"}},
		"pulled":         {"qcow2", map[string]string{"os_distro": "debian", "os_type": "linux", "slipway_version": "v1.34.4"}},
	} {
		got, err := stacks.BundleImage(of, name)
		if err != nil || got.Format != want.format || !maps.Equal(got.Properties, want.properties) {
			t.Errorf("%s: %s with %v (%v)", name, got.Format, got.Properties, err)
		}
	}
}
