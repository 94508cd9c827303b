package contract_test

import (
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// person is a user with a project, made for one test.
type person struct {
	user     users.User
	project  projects.Project
	password string
	endpoint string
}

// newPerson makes a user who is a member of a project of the same name.
func newPerson(t *testing.T) person {
	t.Helper()
	client := admin(t).Identity(t)
	name := unique(t)
	p := person{password: "secret-" + name, endpoint: client.IdentityBase}
	p.project = *must[*projects.Project](t)(projects.Create(t.Context(), client, projects.CreateOpts{Name: name, DomainID: "default"}).Extract())
	t.Cleanup(func() { _ = projects.Delete(cleanup(t), client, p.project.ID).ExtractErr() })
	p.user = *must[*users.User](t)(users.Create(t.Context(), client, users.CreateOpts{Name: name, DomainID: "default", Password: p.password}).Extract())
	t.Cleanup(func() { _ = users.Delete(cleanup(t), client, p.user.ID).ExtractErr() })
	grant(t, p, roleID(t, "member"))
	return p
}

func grant(t *testing.T, p person, role string) {
	t.Helper()
	err := roles.Assign(t.Context(), admin(t).Identity(t), role, roles.AssignOpts{UserID: p.user.ID, ProjectID: p.project.ID}).ExtractErr()
	if err != nil {
		t.Fatal(err)
	}
}

// roleID finds a role by name.
func roleID(t *testing.T, name string) string {
	t.Helper()
	pages, err := roles.List(admin(t).Identity(t), roles.ListOpts{Name: name}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := must[[]roles.Role](t)(roles.ExtractRoles(pages))
	if len(found) != 1 || found[0].Name != name {
		t.Fatalf("roles called %s: %v", name, found)
	}
	return found[0].ID
}

// options are the person's login with password, on the project.
func (p person) options() gophercloud.AuthOptions {
	return gophercloud.AuthOptions{IdentityEndpoint: p.endpoint, UserID: p.user.ID, Password: p.password,
		Scope: &gophercloud.AuthScope{ProjectID: p.project.ID}}
}

// clients log the person in.
func (p person) clients(t *testing.T) sandboxtest.Clients {
	t.Helper()
	return must[sandboxtest.Clients](t)(try(t, p.options()))
}

func try(t *testing.T, o gophercloud.AuthOptions) (sandboxtest.Clients, error) {
	t.Helper()
	provider, err := openstack.AuthenticatedClient(t.Context(), o)
	return sandboxtest.NewClients(provider, gophercloud.EndpointOpts{}), err
}
