package look

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// TestPlacementSaysWhatIsShort to whoever may ask it; others read that they may not.
func TestPlacementSaysWhatIsShort(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	disk := 1
	for name, cpus := range map[string]int{"huge": 9999, "fits": 1} {
		if _, err := flavors.Create(t.Context(), box.Admin.Compute(t), flavors.CreateOpts{Name: name, VCPUs: cpus, RAM: 64, Disk: &disk}).Extract(); err != nil {
			t.Fatal(err)
		}
	}
	closer := func(*cause.Cloud) cause.Details {
		return cause.Details{Shapes: []cause.Shape{{Flavor: "huge"}, {Flavor: "fits", OnVolume: true}, {Flavor: "gone"}}}
	}
	admin := cloud.Options{Cloud: "admin", CloudsYAML: fmt.Appendf(nil, "clouds: {admin: {region_name: %s, auth: {auth_url: %q, username: admin, password: %q, project_name: admin, user_domain_name: Default, project_domain_name: Default}}}",
		box.Env.Region, box.URL()+"/identity", box.Passwords().Admin)}
	said := NewCache(time.Now).Ask(t.Context(), admin, closer)
	if said == nil || len(said.Rooms) != 3 {
		t.Fatalf("said %+v", said)
	}
	for i, want := range []string{"no host has VCPU:9999 free", "a host has VCPU:1, MEMORY_MB:64, so it is not room that is short", "the flavor gone is gone"} {
		if !strings.Contains(said.Rooms[i].Words, want) {
			t.Errorf("of %+v it says %q", said.Rooms[i].Shape, said.Rooms[i].Words)
		}
	}
	said = NewCache(time.Now).Ask(t.Context(), member(t, box), closer)
	refused := slices.ContainsFunc(said.Missing, func(u cause.Unseen) bool { return u.What == cause.ListRooms && strings.Contains(u.Why, "403") })
	if len(said.Rooms) > 0 || !refused {
		t.Errorf("a member reads %+v, missing %+v", said.Rooms, said.Missing)
	}
}
