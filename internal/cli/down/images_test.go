package down

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/slipway-sh/slipway/images"
	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// proves: S-80
func TestImagesStayUnlessAskedFor(t *testing.T) {
	t.Parallel()
	sandbox := sandboxtest.Start(t)
	text, err := os.ReadFile(sandbox.CloudsYAML())
	if err != nil {
		t.Fatal(err)
	}
	c, err := cloud.Open(t.Context(), cloud.Options{Cloud: "sandbox", CloudsYAML: text})
	if err != nil {
		t.Fatal(err)
	}
	glance, err := images.NewGlance(c)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for name, by := range map[string]string{"idle": "prod", "booted": "prod", "offered": "prod", "other": "stage", "by-hand": ""} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(strings.Repeat("\x00"+name, 1000)), 0o600); err != nil {
			t.Fatal(err)
		}
		visibility := map[bool]string{true: "community", false: "private"}[name == "offered"]
		m, err := manifest.Parse(config.Source{Name: "images.yaml", Text: []byte("apiVersion: slipway.sh/v1alpha1\nkind: Images\nspec: {images: [{name: " + name + ", format: raw, file: " + file + ", visibility: " + visibility + "}]}\n")})
		if err != nil {
			t.Fatal(err)
		}
		syncer := images.Syncer{Glance: glance, Events: event.Discard{}, UploadedBy: by}
		results, err := syncer.Sync(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		ids[name] = results[0].ID
	}
	pages, err := flavors.ListDetail(sandbox.Member.Compute(t), nil).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, _ := flavors.ExtractFlavors(pages)
	if _, err := servers.Create(t.Context(), sandbox.Member.Compute(t), servers.CreateOpts{Name: "theirs", FlavorRef: list[0].ID, ImageRef: ids["booted"]}, nil).Extract(); err != nil {
		t.Fatal(err)
	}
	left := func() map[string]bool {
		found := map[string]bool{}
		records, err := glance.List(t.Context(), true, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			found[r.Name] = true
		}
		return found
	}

	kept, err := options{}.leaveImages(t.Context(), c, "prod", event.Discard{})
	if err != nil || len(kept) != 3 || len(left()) != 5 {
		t.Fatalf("without --images: %+v, left %v (%v)", kept, left(), err)
	}
	plan, err := options{images: true}.leaveImages(t.Context(), c, "prod", event.Discard{})
	if now := left(); err != nil || len(now) != 4 || now["idle"] {
		t.Errorf("with --images: left %v (%v)", now, err)
	}
	said := strings.Join(result{Images: plan}.imageLines(), "\n")
	for _, want := range []string{"image idle (" + ids["idle"] + ") deleted", "stays: used by server theirs", "stays: it is community"} {
		if !strings.Contains(said, want) {
			t.Errorf("said %s, without %q", said, want)
		}
	}
}
