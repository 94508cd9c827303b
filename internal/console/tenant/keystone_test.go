package tenant

import (
	"slices"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"

	"github.com/slipway-sh/slipway/internal/console/words"
)

// TestProjectsOfOneNameAreShownWithTheirIDs: each domain may have one, and only the ID tells them
// apart.
func TestProjectsOfOneNameAreShownWithTheirIDs(t *testing.T) {
	t.Parallel()
	all := []projects.Project{{ID: "a1", Name: "shop", Enabled: true}, {ID: "b2", Name: "shop", Enabled: true}, {ID: "c3", Name: "bank", Enabled: true}, {ID: "d4", Name: "bank"}}
	in := signIn{Project: "shop"}
	if id := in.choose(all); id != "" || words.English(in.ProjectError) != "You have several projects of this name. Type the ID of one." {
		t.Errorf("by the name: %q, %v", id, in.ProjectError)
	}
	if want := []pair{{"shop · a1", "a1"}, {"shop · b2", "b2"}, {"bank", "bank"}}; !slices.Equal(in.Projects, want) {
		t.Errorf("%v, want %v", in.Projects, want)
	}
	for typed, want := range map[string]string{"b2": "b2", "bank": "c3", "d4": ""} {
		in := signIn{Project: typed}
		if id := in.choose(all); id != want {
			t.Errorf("%s is %q, want %q", typed, id, want)
		}
	}
}
