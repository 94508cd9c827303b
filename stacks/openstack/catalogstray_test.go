package openstack

import (
	"net/netip"
	"testing"
)

// TestAFormerHostNameThatLeadsToOurAddressIsOurs, with the users of that time: an endpoint of a former
// release names no project, and no state has its URL. What leads elsewhere can be another's.
func TestAFormerHostNameThatLeadsToOurAddressIsOurs(t *testing.T) {
	t.Parallel()
	for host, ours := range map[string]bool{"127.0.0.1": true, "localhost": true, "192.0.2.9": false} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			client, one, _ := namesakes(t)
			former := catalogKind{administrator: one.administrator, clients: placed{}}
			former.register(t, entryAt(host))
			own := func(step string) Ownership { return Ownership{Environment: "prod", Step: step} }
			user := ServiceUserInputs{Ownership: own("magnum-user"), Role: "service"}
			if _, err := (serviceUserKind{one.administrator, placed{region: "RegionOne"}}).make(t.Context(), user); err != nil {
				t.Fatal(err)
			}
			r := Registered{Catalog: entryAt("renamed"), Address: netip.MustParseAddr("127.0.0.1"), Users: []ServiceUserInputs{user},
				Project: ServiceProjectInputs{Ownership: own("magnum-project"), Name: "none"}}
			left, err := RemoveRegistered(t.Context(), one.administrator, one.clients, r)
			if err != nil || (len(left) == 0) != ours {
				t.Errorf("unclear %q, %v", left, err)
			}
			if got := served(t, client); (len(got) == 0) != ours {
				t.Errorf("the catalog has %q", got)
			}
			if got := registeredUsers(t, client); (len(got) == 0) != ours {
				t.Errorf("the users %q are left", got)
			}
		})
	}
}

// TestWithoutAnAddressNothingLeadsToIt: it is not in the project any more.
func TestWithoutAnAddressNothingLeadsToIt(t *testing.T) {
	t.Parallel()
	for endpoint, address := range map[string]netip.Addr{"https://127.0.0.1:9511/v1": {}, "https://192.0.2.9:9511/v1": netip.MustParseAddr("192.0.2.8"), "://": netip.MustParseAddr("192.0.2.8")} {
		if leadsTo(t.Context(), endpoint, address) {
			t.Errorf("%s leads to %s", endpoint, address)
		}
	}
}
