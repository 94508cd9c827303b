package stacks_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/internal/preflight"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
	resources "github.com/slipway-sh/slipway/stacks/openstack"
)

// newer gives the world the seed's image of another bundle.
func (w *world) newer(content string) error {
	sum := sha256.Sum256([]byte(content))
	w.env.Image.Path, w.env.Image.SHA256 = filepath.Join(w.folder, "newer.raw"), hex.EncodeToString(sum[:])
	return os.WriteFile(w.env.Image.Path, []byte(content), 0o600)
}

// newerBundle is the seed's image of a newer bundle.
const newerBundle = "a newer bundle's"

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
	if err := w.newer(newerBundle); err != nil {
		t.Fatal(err)
	}
	plan, err := w.run(t).Preview(t.Context(), w.env.Program)
	replaced := map[string]bool{}
	for _, c := range plan.Changes {
		replaced[c.Name] = c.Operation == engine.Replace
	}
	if err != nil || plan.Counts[engine.Replace] != 2 || !replaced[stacks.StepSeed] || !replaced[stacks.StepImage] {
		t.Errorf("plan: %+v, %v", plan.Changes, err)
	}
	w.clients.calls.reset()
	w.up(t)
	sent := w.clients.calls.writing()
	uploaded := slices.IndexFunc(sent, func(call string) bool { return strings.HasPrefix(call, "PUT") && strings.HasSuffix(call, "/file") })
	deleted := slices.Index(sent, "DELETE /image/v2/images/"+image.ID)
	if uploaded < 0 || deleted < uploaded {
		t.Errorf("the newer image was not there before the older went: %q", sent)
	}
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

// The way to a newer bundle may be killed at any of its changes.
func TestKilledRunsReachTheNewerBundle(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	w := newWorld(t, cloud, plain)
	w.up(t)
	seed, data := w.only(t, stacks.StepSeed), w.only(t, stacks.StepData)
	kills := 0
	for killed(t, cloud, w.folder, childChange, 1+kills%3, childImage+"="+newerBundle) {
		if kills++; kills > 20 {
			t.Fatal("it never comes to its end")
		}
	}
	t.Logf("%d runs were killed", kills)
	if kills < 2 {
		t.Errorf("only %d runs were killed", kills)
	}
	if err := w.newer(newerBundle); err != nil {
		t.Fatal(err)
	}
	if w.only(t, stacks.StepSeed).ID == seed.ID || w.only(t, stacks.StepData).ID != data.ID {
		t.Error("the seed was not replaced on its data")
	}
	if image := w.only(t, stacks.StepImage); w.hash(t, image.ID) != w.env.Image.SHA256 {
		t.Errorf("the image is %+v", image)
	}
	w.converged(t)
}

// A run whose state is lost believes what the server itself says of its image.
func TestANewerBundleWithoutAState(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Start(t), plain)
	w.up(t)
	seed, data := w.only(t, stacks.StepSeed), w.only(t, stacks.StepData)
	w.loseState(t)
	if err := w.newer(newerBundle); err != nil {
		t.Fatal(err)
	}
	w.up(t)
	if now := w.only(t, stacks.StepSeed); now.ID == seed.ID {
		t.Error("the seed is of the older image")
	}
	if now := w.only(t, stacks.StepData); now.ID != data.ID || now.State != "in-use" {
		t.Errorf("the data volume is %+v", now)
	}
}

// A server that says nothing of its image stays, and nothing else says it for it.
func TestAServerOfAnUnknownImageStaysUnknown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Start(t), plain)
	digest := w.env.Image.SHA256
	w.env.Image.SHA256 = ""
	w.up(t)
	seed := w.only(t, stacks.StepSeed)
	w.env.Image.SHA256 = digest
	var err error
	if w.env.Choices.FlavorID, err = w.flavor(t.Context(), "m1.xlarge"); err != nil {
		t.Fatal(err)
	}
	w.up(t)
	client, _ := w.clients.Compute()
	server, err := servers.Get(t.Context(), client, seed.ID).Extract()
	if err != nil || server.Metadata["slipway_image"] != "" {
		t.Errorf("the server says %v, %v", server.Metadata, err)
	}
}

// Machines of tenants' clusters need their image to be repaired and to grow, whether they boot
// from it or from a volume that was made of it.
func TestTheOlderImageStaysWhileItIsUsed(t *testing.T) {
	t.Parallel()
	t.Run("by a server", func(t *testing.T) {
		t.Parallel()
		olderImageStays(t, func(o *servers.CreateOpts, image string) { o.ImageRef = image }, false)
	})
	t.Run("by a server, after it was deactivated", func(t *testing.T) {
		t.Parallel()
		olderImageStays(t, func(o *servers.CreateOpts, image string) { o.ImageRef = image }, true)
	})
	t.Run("by a volume", func(t *testing.T) {
		t.Parallel()
		olderImageStays(t, func(o *servers.CreateOpts, image string) {
			o.BlockDevice = []servers.BlockDevice{{SourceType: servers.SourceImage, DestinationType: servers.DestinationVolume, UUID: image, VolumeSize: 20}}
		}, false)
	})
}

func olderImageStays(t *testing.T, boot func(*servers.CreateOpts, string), deactivated bool) {
	t.Helper()
	w := newWorld(t, sandboxtest.Start(t), plain)
	w.up(t)
	client, _ := w.clients.Compute()
	options := servers.CreateOpts{Name: "tenant", FlavorRef: w.env.Choices.FlavorID, Networks: []servers.Network{{UUID: w.only(t, stacks.StepNetwork).ID}}}
	older := w.only(t, stacks.StepImage).ID
	boot(&options, older)
	if _, err := servers.Create(t.Context(), client, options, nil).Extract(); err != nil {
		t.Fatal(err)
	}
	if deactivated {
		glance, _ := w.clients.Image()
		if _, err := glance.Post(t.Context(), glance.ServiceURL("images", older, "actions", "deactivate"), nil, nil, &gophercloud.RequestOpts{OkCodes: []int{204}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.newer(newerBundle); err != nil {
		t.Fatal(err)
	}
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

// What the versions are is said beside what names things that are to come: a plan
// refuses those that Kubernetes cannot go to before it knows the rest (S-66).
func TestAPlanKnowsTheVersions(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"{controlPlane: {count: 1}, kubernetesVersion: v1.33.5}":                                      "1.33.5",
		"{controlPlane: {count: 1}, kubernetesVersion: v1.33.5, values: {kubernetesVersion: 1.34.1}}": "1.34.1",
	} {
		w := newWorld(t, sandboxtest.Start(t), plain+"spec:\n  managementCluster: "+spec+"\n")
		w.env.Choices.Management = &preflight.ManagementChoices{ControlPlaneFlavor: "m1.large"}
		w.env.NodeImage, w.env.Equipment.Versions.K3s = w.env.Image, "v1.34.1+k3s1"
		w.up(t)
		if got := w.state(t, stacks.StepManagementCluster).Text("kubernetesVersion"); got != want {
			t.Errorf("%s: the cluster's version is %q", spec, got)
		}
		if got := w.state(t, stacks.StepK3s).Text("release"); got != "v1.34.1+k3s1" {
			t.Errorf("k3s is to be of %q", got)
		}
	}
}
