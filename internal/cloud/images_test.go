package cloud

import (
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// TestADiagnosisKnowsImagesThatListsLeaveOut: of the community, and hidden; not those that the
// project may not use.
func TestADiagnosisKnowsImagesThatListsLeaveOut(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	upload := func(client sandboxtest.Clients, name string, visibility images.ImageVisibility, hidden bool) {
		t.Helper()
		if _, err := images.Create(t.Context(), client.Image(t), images.CreateOpts{Name: name, ContainerFormat: "bare", DiskFormat: "raw", Visibility: &visibility, Hidden: &hidden}).Extract(); err != nil {
			t.Fatal(err)
		}
	}
	upload(box.Member, "own", images.ImageVisibilityPrivate, false)
	upload(box.Member, "retired", images.ImageVisibilityPrivate, true)
	upload(box.Admin, "everybody's", images.ImageVisibilityCommunity, false)
	upload(box.Admin, "secret", images.ImageVisibilityPrivate, false)
	c, _ := open(t, box)
	s, err := c.Diagnosis(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, i := range s.Images {
		found[i.Name] = i.Unlisted
	}
	for name, unlisted := range map[string]bool{"own": false, "retired": true, "everybody's": true} {
		if got, ok := found[name]; !ok || got != unlisted {
			t.Errorf("%s: there %v, unlisted %v", name, ok, got)
		}
	}
	if _, ok := found["secret"]; ok {
		t.Error("an image of another project is listed")
	}
}
