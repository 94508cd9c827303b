package down

import (
	"os"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"

	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/ownership"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// oneOfSeveral are clients of a region of a cloud that has others.
type oneOfSeveral struct{ *cloud.Cloud }

func (oneOfSeveral) Region() string { return "RegionOne" }

func (oneOfSeveral) OtherRegions() bool { return true }

// TestCredentialsThatStayAreTold: after a lost state nobody can tell whose a credential is that
// names no region.
func TestCredentialsThatStayAreTold(t *testing.T) {
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
	t.Cleanup(c.Close)
	grant, err := c.Grant()
	if err != nil {
		t.Fatal(err)
	}
	identity, err := c.Identity()
	if err != nil {
		t.Fatal(err)
	}
	mark, ids := ownership.New("prod", "credential"), map[string]string{}
	for name, described := range map[string]string{"former": mark.Description(), "theirs": mark.DescriptionIn("RegionTwo"), "other": ownership.New("stage", "credential").Description()} {
		made, err := applicationcredentials.Create(t.Context(), identity, grant.UserID, applicationcredentials.CreateOpts{Name: name, Description: described}).Extract()
		if err != nil {
			t.Fatal(err)
		}
		ids[name] = made.ID
	}
	at := &target.Target{Loaded: &config.Loaded{Environment: &config.Environment{Metadata: config.Metadata{Name: "prod"}}},
		Cloud: c, Inventory: openstack.Inventory{Clients: oneOfSeveral{c}, UserID: grant.UserID}}
	r := result{Environment: "prod"}
	if err := r.listUnclear(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	if len(r.Unclear) != 1 || r.Unclear[0].ID != ids["former"] {
		t.Errorf("unclear are %+v, want %s", r.Unclear, ids["former"])
	}
	if said := strings.Join(r.table("deleted").Footer, "\n"); !strings.Contains(said, "credential delete "+ids["former"]) {
		t.Errorf("told:\n%s", said)
	}
}
