package keymanager_test

import (
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// newUser makes a user with a role on a project of the same name.
func newUser(t *testing.T, cloud *sandboxtest.Cloud, name, role string) sandboxtest.Clients {
	t.Helper()
	if _, err := projects.Create(t.Context(), cloud.Admin.Identity(t), projects.CreateOpts{Name: name, DomainID: "default"}).Extract(); err != nil {
		t.Fatal(err)
	}
	return newUserOn(t, cloud, name, role, name)
}

// newUserOn makes a user with a role on a project.
func newUserOn(t *testing.T, cloud *sandboxtest.Cloud, name, role, project string) sandboxtest.Clients {
	t.Helper()
	client := cloud.Admin.Identity(t)
	user, err := users.Create(t.Context(), client, users.CreateOpts{Name: name, DomainID: "default", Password: "pw-" + name}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	err = roles.Assign(t.Context(), client, idOf(t, client, "roles", role), roles.AssignOpts{UserID: user.ID, ProjectID: idOf(t, client, "projects", project)}).ExtractErr()
	if err != nil {
		t.Fatal(err)
	}
	return cloud.Login(t, sandboxtest.User(name, "pw-"+name, project))
}

// idOf finds a role or project by its name.
func idOf(t *testing.T, client *gophercloud.ServiceClient, collection, name string) string {
	t.Helper()
	var body map[string]any
	if _, err := client.Get(t.Context(), client.ServiceURL(collection)+"?name="+name, &body, nil); err != nil {
		t.Fatal(err)
	}
	items, _ := body[collection].([]any)
	if len(items) != 1 {
		t.Fatalf("%s called %s: %v", collection, name, items)
	}
	return items[0].(map[string]any)["id"].(string)
}

func userID(t *testing.T, c sandboxtest.Clients) string {
	t.Helper()
	client, err := openstack.NewIdentityV3(c.Provider, gophercloud.EndpointOpts{})
	if err != nil {
		t.Fatal(err)
	}
	user, err := tokens.Get(t.Context(), client, c.Provider.Token()).ExtractUser()
	if err != nil {
		t.Fatal(err)
	}
	return user.ID
}
