package stacks_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	glance "github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/pulumi/pulumi-go-provider/infer"

	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/images/source"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks"
	offers "github.com/slipway-sh/slipway/stacks/catalog"
	"github.com/slipway-sh/slipway/stacks/engine"
)

const imageList = `apiVersion: slipway.sh/v1alpha1
kind: Images
spec:
  images:
    - {name: node-a, file: a.raw, format: raw, kubernetesVersion: v1.34.2, os: {distro: ubuntu}}
    - {name: node-b, key: b, file: b.raw, format: raw, kubernetesVersion: v1.33.1, os: {distro: ubuntu}, visibility: community}
`

// imageWorld is a world whose environment brings the images of a list.
func imageWorld(t *testing.T) *world {
	t.Helper()
	box := sandboxtest.Start(t)
	w := newWorld(t, box, plain+"spec: {images: [lists/images.yaml]}\n")
	folder := filepath.Join(w.folder, "lists")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	w.write(t, "lists/images.yaml", []byte(imageList))
	for _, name := range []string{"a", "b"} {
		w.write(t, "lists/"+name+".raw", bytes.Repeat([]byte("\x00"+name), 1000))
	}
	text, err := os.ReadFile(box.CloudsYAML())
	if err != nil {
		t.Fatal(err)
	}
	c, err := cloud.Open(t.Context(), cloud.Options{Cloud: "sandbox", CloudsYAML: text})
	if err != nil {
		t.Fatal(err)
	}
	c.Provider.HTTPClient = http.Client{Transport: w.clients.calls}
	w.more = func() []infer.InferredResource {
		return offers.Resources(offers.Options{Cloud: c, Source: source.Opener{}})
	}
	w.list(t)
	return w
}

func (w *world) write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.folder, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// list reads the list of images as commands do.
func (w *world) list(t *testing.T) {
	t.Helper()
	list, err := manifest.ReadFiles(w.env.Config.Spec.Images...)
	if err != nil {
		t.Fatal(err)
	}
	if w.env.Images, err = stacks.ListedImages(list, config.File("")); err != nil {
		t.Fatal(err)
	}
}

func (w *world) uploads() (n int) {
	for _, call := range w.clients.calls.writing() {
		if strings.HasPrefix(call, "PUT ") && strings.HasSuffix(call, "/file") {
			n++
		}
	}
	return n
}

// image is Glance's image of a name; nil if there is none.
func (w *world) image(t *testing.T, name string) *glance.Image {
	t.Helper()
	client, _ := w.clients.Image()
	pages, err := glance.List(client, glance.ListOpts{Name: name, Visibility: "all"}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list := must[[]glance.Image](t)(glance.ExtractImages(pages))
	if len(list) == 0 {
		return nil
	}
	if len(list) > 1 {
		t.Fatalf("%d images %s", len(list), name)
	}
	return &list[0]
}

// proves: F58
func TestTheImagesOfAListAreUploadedOnce(t *testing.T) {
	t.Parallel()
	w := imageWorld(t)
	e := w.run(t)
	w.up(t)
	a, b := w.image(t, "node-a"), w.image(t, "node-b")
	if a == nil || b == nil || a.Properties["kube_version"] != "v1.34.2" || b.Properties["os_distro"] != "ubuntu" || b.Visibility != "community" {
		t.Fatalf("images %+v and %+v", a, b)
	}
	if id := w.state(t, "image-b").Text("imageID"); id != b.ID {
		t.Errorf("the program knows image %q, not %s", id, b.ID)
	}
	w.clients.calls.reset()
	if report := w.up(t); len(report.Changes) != 0 || len(w.clients.calls.writing()) != 0 {
		t.Errorf("second up changed %v by %v", report.Changes, w.clients.calls.writing())
	}

	// Another description changes the image in place, in one resource.
	w.write(t, "lists/images.yaml", []byte(strings.Replace(imageList, "visibility: community", "visibility: private", 1)))
	w.list(t)
	plan, err := e.Preview(t.Context(), w.env.Program)
	if err != nil || plan.Counts[engine.Update] != 1 || len(plan.Changes) != 1 || plan.Changes[0].Properties[0].Path != "visibility" {
		t.Errorf("plan %+v (%v)", plan.Changes, err)
	}
	w.up(t)
	if now := w.image(t, "node-b"); now.ID != b.ID || now.Visibility != "private" || w.uploads() != 0 {
		t.Errorf("%+v after %d uploads", now, w.uploads())
	}

	// Deleted by hand is found by a refresh and brought again.
	client, _ := w.clients.Image()
	if err := glance.Delete(t.Context(), client, a.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if drift, err := e.Refresh(t.Context(), true); err != nil || drift.Counts[engine.Delete] != 1 {
		t.Errorf("drift %+v (%v)", drift.Changes, err)
	}
	if report := w.up(t); report.Changes["create"] != 1 || w.uploads() != 1 || w.image(t, "node-a") == nil {
		t.Errorf("after the deletion: %v, %d uploads", report.Changes, w.uploads())
	}

	// Images stay when the environment goes, and have no mark that a sweep finds.
	if _, err := e.Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := w.things(t); len(left) > 0 || w.image(t, "node-a") == nil || w.image(t, "node-b") == nil {
		t.Errorf("left %+v, images %+v %+v", left, w.image(t, "node-a"), w.image(t, "node-b"))
	}
}

func TestAnImageOfTheListIsTheSeeds(t *testing.T) {
	t.Parallel()
	w := imageWorld(t)
	w.env.Image = stacks.ImageFile{Listed: "node-b"}
	w.up(t)
	compute, _ := w.clients.Compute()
	server := must[*servers.Server](t)(servers.Get(t.Context(), compute, w.only(t, stacks.StepSeed).ID).Extract())
	if b := w.image(t, "node-b"); server.Image["id"] != b.ID {
		t.Errorf("the seed has image %v, not %s", server.Image, b.ID)
	}
	if again := w.up(t); len(again.Changes) != 0 {
		t.Errorf("second up changed %v", again.Changes)
	}
}

func TestABadImageDoesNotKeepTheRest(t *testing.T) {
	t.Parallel()
	w := imageWorld(t)
	w.write(t, "lists/images.yaml", []byte(strings.Replace(imageList, "format: raw, kubernetesVersion: v1.34.2", "format: qcow2, kubernetesVersion: v1.34.2", 1)))
	w.list(t)
	_, err := w.run(t).Up(t.Context(), w.env.Program)
	if said := report(err); err == nil || !strings.Contains(said, "image node-a from") || !strings.Contains(said, "not qcow2") || strings.Contains(said, "fix: \n") {
		t.Errorf("up: %s", said)
	}
	if b := w.image(t, "node-b"); b == nil || w.image(t, "node-a") != nil {
		t.Errorf("images %+v and %+v", w.image(t, "node-a"), b)
	}
}

func TestMistakesInAListAreToldWithTheirPath(t *testing.T) {
	t.Parallel()
	w := imageWorld(t)
	w.write(t, "lists/images.yaml", []byte(strings.Replace(imageList, "format: raw", "formt: raw", 1)))
	w.write(t, "lists/more.yaml", []byte(strings.Replace(imageList, "name: node-a", "name: node-c", 1)))
	folder := config.File(filepath.Join(w.folder, "lists"))
	_, err := manifest.ReadFiles(folder+"/images.yaml", folder+"/absent.yaml")
	if said := report(err); !strings.Contains(said, `images.yaml:5: spec.images[0].formt: unknown key "formt"; fix: did you mean format?`) || !strings.Contains(said, "absent.yaml: the file does not exist") {
		t.Errorf("told: %s", said)
	}
	w.write(t, "lists/images.yaml", []byte(imageList))
	if _, err := manifest.ReadFiles(folder+"/images.yaml", folder+"/more.yaml"); err == nil || !strings.Contains(err.Error(), `"b" is also an image of `) {
		t.Errorf("two of a key: %v", err)
	}
	list := must[[]*manifest.Manifest](t)(manifest.ReadFiles(folder + "/images.yaml"))
	if err := os.Remove(string(folder) + "/a.raw"); err != nil {
		t.Fatal(err)
	}
	if _, err := stacks.ListedImages(list, ""); err == nil || !strings.Contains(err.Error(), "image node-a: ") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// state is a resource as the state has it.
func (w *world) state(t *testing.T, name string) engine.Resource {
	t.Helper()
	all := must[[]engine.Resource](t)(w.run(t).Resources(t.Context()))
	i := slices.IndexFunc(all, func(r engine.Resource) bool { return r.Name == name })
	if i < 0 {
		t.Fatalf("no resource %s in %+v", name, all)
	}
	return all[i]
}

// project is the ID of the project that the world works in.
func (w *world) project() (string, error) {
	project, err := w.clients.provider.GetAuthResult().(tokens.CreateResult).ExtractProject()
	if err != nil {
		return "", err
	}
	return project.ID, nil
}
