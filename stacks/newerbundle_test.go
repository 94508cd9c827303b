package stacks_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
	resources "github.com/slipway-sh/slipway/stacks/openstack"
)

// newer gives the world the seed's image of another bundle.
func (w *world) newer(t *testing.T, content string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "seed.raw")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(content))
	w.env.Image.Path, w.env.Image.SHA256 = path, hex.EncodeToString(sum[:])
}

// hash is the digest of an image in the cloud.
func (w *world) hash(t *testing.T, id string) string {
	t.Helper()
	client, _ := w.clients.Image()
	image, err := images.Get(t.Context(), client, id).Extract()
	if err != nil {
		t.Fatal(err)
	}
	digest, _ := image.Properties[resources.HashProperty].(string)
	return digest
}

// The half of F03 that is in the cloud: the seed's server is replaced by one of
// the newer image, on the same data.
func TestANewerBundleReplacesTheSeed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Start(t), plain)
	w.up(t)
	seed, data, image := w.only(t, stacks.StepSeed), w.only(t, stacks.StepData), w.only(t, stacks.StepImage)
	address := w.output(t, stacks.OutputAddress)
	w.newer(t, "a newer bundle's")
	plan, err := w.run(t).Preview(t.Context(), w.env.Program)
	replaced := map[string]bool{}
	for _, c := range plan.Changes {
		replaced[c.Name] = c.Operation == engine.Replace
	}
	if err != nil || plan.Counts[engine.Replace] != 2 || !replaced[stacks.StepSeed] || !replaced[stacks.StepImage] {
		t.Errorf("plan: %+v, %v", plan.Changes, err)
	}
	w.up(t)
	if now := w.only(t, stacks.StepSeed); now.ID == seed.ID {
		t.Error("the seed was not replaced")
	}
	if now := w.only(t, stacks.StepData); now.ID != data.ID || now.State != "in-use" {
		t.Errorf("the data volume is %+v", now)
	}
	if now := w.only(t, stacks.StepImage); now.ID == image.ID || w.hash(t, now.ID) != w.env.Image.SHA256 {
		t.Errorf("the image is %+v", now)
	}
	if now := w.output(t, stacks.OutputAddress); now != address {
		t.Errorf("the seed is at %v, was at %v", now, address)
	}
	if again := w.up(t); len(again.Changes) > 0 {
		t.Errorf("once more: %v", again.Changes)
	}
}

// A run whose state is lost believes what the server itself says of its image.
func TestANewerBundleWithoutAState(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Start(t), plain)
	w.up(t)
	seed, data := w.only(t, stacks.StepSeed), w.only(t, stacks.StepData)
	if err := os.RemoveAll(filepath.Join(w.folder, ".slipway")); err != nil {
		t.Fatal(err)
	}
	w.newer(t, "a newer bundle's")
	w.up(t)
	if now := w.only(t, stacks.StepSeed); now.ID == seed.ID {
		t.Error("the seed is of the older image")
	}
	if now := w.only(t, stacks.StepData); now.ID != data.ID || now.State != "in-use" {
		t.Errorf("the data volume is %+v", now)
	}
}

// Machines of tenants' clusters need their image to be repaired and to grow.
func TestTheOlderImageStaysWhileItIsUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Start(t), plain)
	w.up(t)
	image := w.only(t, stacks.StepImage)
	client, _ := w.clients.Compute()
	_, err := servers.Create(t.Context(), client, servers.CreateOpts{Name: "tenant", ImageRef: image.ID, FlavorRef: w.env.Choices.FlavorID,
		Networks: []servers.Network{{UUID: w.only(t, stacks.StepNetwork).ID}}}, nil).Extract()
	if err != nil {
		t.Fatal(err)
	}
	w.newer(t, "a newer bundle's")
	w.up(t)
	digests := map[string]bool{}
	for _, thing := range w.things(t) {
		if thing.Step == stacks.StepImage {
			digests[w.hash(t, thing.ID)] = true
		}
	}
	if len(digests) != 2 || !digests[w.env.Image.SHA256] {
		t.Errorf("images: %v", digests)
	}
}
