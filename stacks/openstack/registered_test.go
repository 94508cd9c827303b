package openstack

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
)

// TestWhatIsRegisteredGoesWithoutAState, and what another environment registered stays.
func TestWhatIsRegisteredGoesWithoutAState(t *testing.T) {
	t.Parallel()
	administrator, client := boss(t)
	clients := placed{region: "RegionOne"}
	of := func(environment string) Registered {
		own := func(step string) Ownership { return Ownership{Environment: environment, Step: step} }
		return Registered{
			Catalog: CatalogEntryInputs{Ownership: own("magnum-catalog"), Type: "container-infra", Name: "magnum", Region: "RegionOne", URL: "https://" + environment + ":9511/v1"},
			Users:   []ServiceUserInputs{{Ownership: own("magnum-user"), Role: "service"}, {Ownership: own("magnum-administrator"), Role: "service"}},
			Project: ServiceProjectInputs{Ownership: own("magnum-project"), Name: environment + "-services"},
		}
	}
	register := func(r Registered) {
		t.Helper()
		project, err := serviceProjectKind{administrator, clients}.make(t.Context(), r.Project)
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range r.Users {
			in.ProjectID = project
			id, err := serviceUserKind{administrator, clients}.make(t.Context(), in)
			if err == nil {
				_, err = serviceUserKind{administrator, clients}.settle(t.Context(), id, in)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		kind := catalogKind{administrator: administrator, clients: clients}
		id, err := kind.find(t.Context(), r.Catalog)
		if err == nil && id == "" {
			id, err = kind.make(t.Context(), r.Catalog)
		}
		if err == nil {
			_, err = kind.settle(t.Context(), id, r.Catalog)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ours, theirs := of("prod"), of("stage")
	register(theirs)
	register(ours)
	namesake := of("prod") // in another project
	namesake.Catalog.URL = "https://192.0.2.9:9511/v1"
	if unclear, err := RemoveRegistered(t.Context(), administrator, clients, namesake); err != nil || len(unclear) != 3 || len(registeredUsers(t, client)) != 4 {
		t.Errorf("an environment of the name in another project left %q (%q, %v)", registeredUsers(t, client), unclear, err)
	}
	for range 2 { // a second time there is none
		if unclear, err := RemoveRegistered(t.Context(), administrator, clients, ours); err != nil || len(unclear) > 0 {
			t.Fatal(unclear, err)
		}
	}
	if got, want := registeredUsers(t, client), []string{"stage-magnum-administrator", "stage-magnum-user"}; !slices.Equal(got, want) {
		t.Errorf("users %q, want %q", got, want)
	}
	pages, err := endpoints.List(client, endpoints.ListOpts{}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := endpoints.ExtractEndpoints(pages)
	if err != nil {
		t.Fatal(err)
	}
	left := 0
	for _, e := range all {
		if e.URL == ours.Catalog.URL {
			t.Errorf("the endpoint %s is left", e.URL)
		}
		if e.URL == theirs.Catalog.URL && e.Enabled {
			left++
		}
	}
	if left != 3 {
		t.Errorf("%d endpoints of the other environment are enabled", left)
	}
	if id, err := (serviceProjectKind{administrator, clients}).find(t.Context(), ours.Project); err != nil || id != "" {
		t.Errorf("the project %q is left, %v", id, err)
	}
	if _, err := RemoveRegistered(t.Context(), administrator, clients, theirs); err != nil {
		t.Fatal(err)
	}
	if list := ofType(t, client, "container-infra"); len(list) > 0 {
		t.Errorf("the service is left: %v", list)
	}
	refused := func(context.Context) (*gophercloud.ServiceClient, string, error) {
		return nil, "", errors.New("there is none")
	}
	if _, err := RemoveRegistered(t.Context(), refused, clients, ours); err == nil {
		t.Error("without an administrator nobody knows")
	}
}

// registeredUsers are the names of users that an environment's Magnum API can have.
func registeredUsers(t *testing.T, client *gophercloud.ServiceClient) (names []string) {
	t.Helper()
	pages, err := users.List(client, users.ListOpts{}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := users.ExtractUsers(pages)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range all {
		if u.Description != "" {
			names = append(names, u.Name)
		}
	}
	slices.Sort(names)
	return names
}

func ofType(t *testing.T, client *gophercloud.ServiceClient, kind string) []services.Service {
	t.Helper()
	pages, err := services.List(client, services.ListOpts{ServiceType: kind}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := services.ExtractServices(pages)
	if err != nil {
		t.Fatal(err)
	}
	return list
}
