package openstack

import (
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"

	"github.com/slipway-sh/slipway/internal/ownership"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// TestCredentialsOfAnotherProjectStay: one user has environments of the same name in two
// projects. What is made, made anew and revoked in one leaves the credentials of the other.
func TestCredentialsOfAnotherProjectStay(t *testing.T) {
	t.Parallel()
	first, l, _ := loan(t)
	second := l.Member
	grant, err := first.Grant()
	if err != nil {
		t.Fatal(err)
	}
	of := func(clients Clients) ClusterCredential {
		return ClusterCredential{Clients: clients, UserID: grant.UserID, Ownership: Ownership{Environment: "prod", Step: ownership.ClusterStep("default", "web")}}
	}
	kept, _, err := of(first).Make(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second time, as after a run that was killed
		if _, _, err := of(second).Make(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if ids, err := of(second).Revoke(t.Context()); err != nil || len(ids) != 1 {
		t.Errorf("revoked %v, %v", ids, err)
	}
	client, err := first.Identity()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := applicationcredentials.Get(t.Context(), client, grant.UserID, kept).Extract(); err != nil {
		t.Errorf("the credential of the first project: %v", err)
	}
}

// TestACloudWithoutLoadBalancersHasAnInventory: and what is left in a project can be listed.
func TestACloudWithoutLoadBalancersHasAnInventory(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	withdraw(t, box, "load-balancer")
	member := login(t, box)
	grant, err := member.Grant()
	if err != nil {
		t.Fatal(err)
	}
	i := Inventory{Clients: member, UserID: grant.UserID}
	for name, list := range map[string]func() ([]Resource, error){
		"List":    func() ([]Resource, error) { return i.List(t.Context(), "prod") },
		"Remains": func() ([]Resource, error) { return i.Remains(t.Context(), grant.ProjectID) },
	} {
		if _, err := list(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// withdraw takes a service out of the catalog.
func withdraw(t *testing.T, box *sandboxtest.Cloud, kind string) {
	t.Helper()
	admin := box.Admin.Identity(t)
	pages, err := services.List(admin, services.ListOpts{ServiceType: kind}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := services.ExtractServices(pages)
	if err != nil || len(found) == 0 {
		t.Fatalf("no service %s: %v", kind, err)
	}
	for _, s := range found {
		pages, err := endpoints.List(admin, endpoints.ListOpts{ServiceID: s.ID}).AllPages(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all, err := endpoints.ExtractEndpoints(pages)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			if err := endpoints.Delete(t.Context(), admin, e.ID).ExtractErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
