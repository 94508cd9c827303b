package openstack

import (
	"context"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// boss is an administrator of Keystone, which all regions share.
func boss(t *testing.T) (Administrator, *gophercloud.ServiceClient) {
	t.Helper()
	client := sandboxtest.Start(t).Admin.Identity(t)
	return func(context.Context) (*gophercloud.ServiceClient, string, error) { return client, "default", nil }, client
}

// TestServiceUsersOfAnotherRegionStay: to take one would set a new password.
func TestServiceUsersOfAnotherRegionStay(t *testing.T) {
	t.Parallel()
	administrator, _ := boss(t)
	in, stage := ServiceUserInputs{Ownership: Ownership{Environment: "prod", Step: "magnum-user"}}, ServiceUserInputs{Ownership: Ownership{Environment: "stage", Step: "magnum-user"}}
	made := map[string]bool{}
	for _, region := range []string{"RegionOne", "RegionTwo"} {
		kind := serviceUserKind{administrator, placed{region: region, others: true}}
		if id, err := kind.find(t.Context(), in); err != nil || id != "" {
			t.Errorf("%s finds %q, %v", region, id, err)
		}
		id, err := kind.make(t.Context(), in)
		if err != nil || made[id] {
			t.Fatalf("%s made %q, %v", region, id, err)
		}
		made[id] = true
		if again, err := kind.find(t.Context(), in); err != nil || again != id {
			t.Errorf("%s made %s, and finds %q, %v", region, id, again, err)
		}
	}
	former, err := serviceUserKind{administrator, placed{}}.make(t.Context(), stage) // without a region
	if err != nil {
		t.Fatal(err)
	}
	for others, want := range map[bool]string{false: former, true: ""} {
		kind := serviceUserKind{administrator, placed{region: "RegionOne", others: others}}
		if id, err := kind.find(t.Context(), stage); err != nil || id != want {
			t.Errorf("with other regions %t: %q, %v; want %q", others, id, err, want)
		}
	}
}

// homed is a login in a project.
type homed struct {
	placed
	client *gophercloud.ServiceClient
}

func (h homed) Identity() (*gophercloud.ServiceClient, error) { return h.client, nil }

// TestServiceUsersOfAnotherProjectStay, in the same region. Those of a time before users named their
// project are taken as then.
func TestServiceUsersOfAnotherProjectStay(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	keystone := box.Admin.Identity(t)
	administrator := func(context.Context) (*gophercloud.ServiceClient, string, error) { return keystone, "default", nil }
	in, stage := ServiceUserInputs{Ownership: Ownership{Environment: "prod", Step: "magnum-user"}}, ServiceUserInputs{Ownership: Ownership{Environment: "stage", Step: "magnum-user"}}
	former, err := serviceUserKind{administrator, placed{region: "RegionOne"}}.make(t.Context(), stage) // without a project
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]bool{}
	for _, client := range []*gophercloud.ServiceClient{box.Member.Identity(t), keystone} {
		kind := serviceUserKind{administrator, homed{placed{region: "RegionOne"}, client}}
		if id, err := kind.find(t.Context(), in); err != nil || id != "" {
			t.Errorf("%s finds %q, %v", kind.project(), id, err)
		}
		id, err := kind.make(t.Context(), in)
		if err != nil || made[id] {
			t.Fatalf("%s made %q, %v", kind.project(), id, err)
		}
		made[id] = true
		if again, err := kind.find(t.Context(), in); err != nil || again != id {
			t.Errorf("%s made %s, and finds %q, %v", kind.project(), id, again, err)
		}
		if id, err := kind.find(t.Context(), stage); err != nil || id != former {
			t.Errorf("%s finds %q of before, %v; want %q", kind.project(), id, err, former)
		}
	}
}

// TestAProjectThatAnotherRegionMadeIsBorrowed, so that it stays.
func TestAProjectThatAnotherRegionMadeIsBorrowed(t *testing.T) {
	t.Parallel()
	administrator, _ := boss(t)
	in := ServiceProjectInputs{Ownership: Ownership{Environment: "prod", Step: "magnum-project"}, Name: "services"}
	id, err := serviceProjectKind{administrator, placed{region: "RegionOne", others: true}}.make(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	for region, borrowed := range map[string]bool{"RegionOne": false, "RegionTwo": true} {
		state, err := serviceProjectKind{administrator, placed{region: region, others: true}}.read(t.Context(), id, in)
		if err != nil || state.Borrowed != borrowed {
			t.Errorf("%s: borrowed %t, %v", region, state.Borrowed, err)
		}
	}
}

// TestAServiceStaysWhileAnotherRegionHasEndpoints of it.
func TestAServiceStaysWhileAnotherRegionHasEndpoints(t *testing.T) {
	t.Parallel()
	administrator, client := boss(t)
	kind := catalogKind{administrator: administrator, clients: placed{}}
	in := func(region string) CatalogEntryInputs {
		return CatalogEntryInputs{Ownership: Ownership{Environment: "prod", Step: "magnum-catalog"}, Type: "container-infra", Name: "magnum", Region: region, URL: "https://" + region + ":9511/v1"}
	}
	id, err := kind.make(t.Context(), in("RegionOne"))
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]CatalogEntryState{}
	for _, region := range []string{"RegionOne", "RegionTwo"} {
		if states[region], err = kind.settle(t.Context(), id, in(region)); err != nil {
			t.Fatal(err)
		}
	}
	if err := kind.remove(t.Context(), id, states["RegionOne"]); err != nil {
		t.Fatal(err)
	}
	if now, err := kind.read(t.Context(), id, in("RegionTwo")); err != nil || now.URL == "" {
		t.Errorf("the endpoints of the second region: %+v, %v", now, err)
	}
	if err := kind.remove(t.Context(), id, states["RegionTwo"]); err != nil {
		t.Fatal(err)
	}
	if err := services.Get(t.Context(), client, id).Err; !gophercloud.ResponseCodeIs(err, 404) {
		t.Errorf("the service is left: %v", err)
	}
}

// TestEndpointsThatAnotherEnvironmentDisabledAreEnabledAgain: else the catalog would have none, once
// both have disabled the other's.
func TestEndpointsThatAnotherEnvironmentDisabledAreEnabledAgain(t *testing.T) {
	t.Parallel()
	administrator, _ := boss(t)
	kind := catalogKind{administrator: administrator, clients: placed{}}
	in := func(environment string) CatalogEntryInputs {
		return CatalogEntryInputs{Ownership: Ownership{Environment: environment, Step: "magnum-catalog"}, Type: "container-infra", Name: "magnum", Region: "RegionOne", URL: "https://" + environment + ":9511/v1"}
	}
	id, err := kind.make(t.Context(), in("prod"))
	if err != nil {
		t.Fatal(err)
	}
	for _, environment := range []string{"prod", "stage", "prod"} {
		if state, err := kind.settle(t.Context(), id, in(environment)); err != nil || state.URL != in(environment).URL {
			t.Errorf("%s: %+v, %v", environment, state, err)
		}
	}
	if err := kind.remove(t.Context(), id, CatalogEntryState{in("stage"), true}); err != nil {
		t.Fatal(err)
	}
	if state, err := kind.read(t.Context(), id, in("prod")); err != nil || state.URL == "" {
		t.Errorf("when the other one is gone: %+v, %v", state, err)
	}
}

// TestEndpointsOfOthersAreAsTheyWere after the environment: those of other installers often have
// no description.
func TestEndpointsOfOthersAreAsTheyWere(t *testing.T) {
	t.Parallel()
	administrator, client := boss(t)
	kind := catalogKind{administrator: administrator, clients: placed{}}
	in := CatalogEntryInputs{Ownership: Ownership{Environment: "prod", Step: "magnum-catalog"}, Type: "container-infra", Name: "magnum", Region: "RegionOne", URL: "https://prod:9511/v1"}
	for _, description := range []string{"", "of the cloud"} {
		service, err := services.Create(t.Context(), client, services.CreateOpts{Type: in.Type, Name: in.Name}).Extract()
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := endpoints.Create(t.Context(), client, endpoints.CreateOpts{Availability: gophercloud.AvailabilityPublic, Region: in.Region, URL: "https://cloud:9511/v1", ServiceID: service.ID, Description: description}).Extract()
		if err != nil {
			t.Fatal(err)
		}
		state, err := kind.settle(t.Context(), service.ID, in)
		if err != nil || !state.Borrowed {
			t.Fatalf("%+v, %v", state, err)
		}
		if now, err := endpoints.Get(t.Context(), client, theirs.ID).Extract(); err != nil || now.Enabled {
			t.Errorf("beside ours: %+v, %v", now, err)
		}
		if err := kind.remove(t.Context(), service.ID, state); err != nil {
			t.Fatal(err)
		}
		if now, err := endpoints.Get(t.Context(), client, theirs.ID).Extract(); err != nil || !now.Enabled || now.Description != description {
			t.Errorf("afterwards: %+v, %v", now, err)
		}
	}
}

// TestAProjectStaysWhileAnotherRegionHasUsersInIt: they would lose their role with it.
func TestAProjectStaysWhileAnotherRegionHasUsersInIt(t *testing.T) {
	t.Parallel()
	administrator, client := boss(t)
	in := ServiceProjectInputs{Ownership: Ownership{Environment: "prod", Step: "magnum-project"}, Name: "services"}
	kind := serviceProjectKind{administrator, placed{region: "RegionOne", others: true}}
	id, err := kind.make(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	state, err := kind.settle(t.Context(), id, in)
	if err != nil {
		t.Fatal(err)
	}
	user := ServiceUserInputs{Ownership: Ownership{Environment: "prod", Step: "magnum-user"}, ProjectID: id, Role: "service"}
	second := serviceUserKind{administrator, placed{region: "RegionTwo", others: true}}
	who, err := second.make(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.settle(t.Context(), who, user); err != nil {
		t.Fatal(err)
	}
	if err := kind.remove(t.Context(), id, state); err != nil {
		t.Fatal(err)
	}
	if err := projects.Get(t.Context(), client, id).Err; err != nil {
		t.Errorf("the project of the user in the second region: %v", err)
	}
	if err := second.remove(t.Context(), who, ServiceUserState{}); err != nil {
		t.Fatal(err)
	}
	if err := kind.remove(t.Context(), id, state); err != nil {
		t.Fatal(err)
	}
	if err := projects.Get(t.Context(), client, id).Err; !gophercloud.ResponseCodeIs(err, 404) {
		t.Errorf("the project is left: %v", err)
	}
}
