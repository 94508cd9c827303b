package contract_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/domains"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
)

func TestMembersAreNoAdministrators(t *testing.T) {
	t.Parallel()
	p, other := newPerson(t), newPerson(t)
	token := p.clients(t).Provider.Token()
	for _, c := range []struct{ method, path, body string }{
		{"GET", "projects", ""}, {"POST", "projects", `{"project":{"name":"x"}}`}, {"DELETE", "projects/" + p.project.ID, ""},
		{"GET", "projects/" + other.project.ID, ""}, {"GET", "users", ""}, {"POST", "users", `{"user":{"name":"x"}}`},
		{"GET", "users/" + other.user.ID, ""}, {"DELETE", "users/" + p.user.ID, ""}, {"GET", "role_assignments", ""},
		{"PUT", "projects/" + p.project.ID + "/users/" + p.user.ID + "/roles/" + roleID(t, "admin"), ""},
		{"POST", "services", `{"service":{"type":"x"}}`}, {"POST", "domains", `{"domain":{"name":"x"}}`},
	} {
		got := raw(t, c.method, p.endpoint+"v3/"+c.path, token, c.body, nil)
		if got.status != http.StatusForbidden || got.at("error", "code") != 403.0 {
			t.Errorf("%s %s: %d %s", c.method, c.path, got.status, got.text)
		}
	}
	for _, path := range []string{"projects/" + p.project.ID, "users/" + p.user.ID, "users/" + p.user.ID + "/projects", "regions"} {
		if got := raw(t, "GET", p.endpoint+"v3/"+path, token, "", nil); got.status != http.StatusOK {
			t.Errorf("GET %s: %d, want 200", path, got.status)
		}
	}
}

func TestUnknownIdentityResources(t *testing.T) {
	t.Parallel()
	clients := admin(t)
	endpoint := clients.Identity(t).IdentityBase
	for _, kind := range []string{"projects", "users", "groups", "roles", "domains", "services", "endpoints", "regions", "credentials", "OS-TRUST/trusts"} {
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			got := raw(t, method, endpoint+"v3/"+kind+"/no-such-id", clients.Provider.Token(), "", nil)
			message, _ := got.at("error", "message").(string)
			if got.status != http.StatusNotFound || got.at("error", "title") != "Not Found" || !strings.Contains(message, "no-such-id") {
				t.Errorf("%s %s: %d %s", method, kind, got.status, got.text)
			}
		}
	}
	if got := raw(t, http.MethodGet, endpoint+"v3/nothing", clients.Provider.Token(), "", nil); got.status != http.StatusNotFound {
		t.Errorf("an unknown path: %d", got.status)
	}
	if got := raw(t, http.MethodPut, endpoint+"v3/users", clients.Provider.Token(), "{}", nil); got.status != http.StatusMethodNotAllowed {
		t.Errorf("a wrong method: %d", got.status)
	}
	checkUnknownToAPerson(t)
}

// checkUnknownToAPerson asks as one who may see some of a kind: Keystone hides whether there is
// one of an ID, unless nobody else may see any.
func checkUnknownToAPerson(t *testing.T) {
	t.Helper()
	p := newPerson(t)
	clients := p.clients(t)
	of := "users/" + p.user.ID
	for path, want := range map[string]int{"projects": http.StatusForbidden, "users": http.StatusForbidden, "groups": http.StatusForbidden,
		"domains": http.StatusForbidden, "services": http.StatusForbidden, "endpoints": http.StatusForbidden, "credentials": http.StatusForbidden,
		"roles": http.StatusNotFound, "regions": http.StatusNotFound, "OS-TRUST/trusts": http.StatusNotFound,
		of + "/application_credentials": http.StatusNotFound, of + "/credentials/OS-EC2": http.StatusNotFound} {
		got := raw(t, http.MethodGet, clients.Identity(t).IdentityBase+"v3/"+path+"/no-such-id", clients.Provider.Token(), "", nil)
		if got.status != want {
			t.Errorf("GET %s as a member: %d, want %d", path, got.status, want)
		}
	}
	wantStatus(t, roles.Get(t.Context(), clients.Identity(t), roleID(t, "member")).Err, http.StatusForbidden)
}

func TestProjectLifecycle(t *testing.T) {
	t.Parallel()
	client := admin(t).Identity(t)
	name := unique(t)
	parent := must[*projects.Project](t)(projects.Create(t.Context(), client, projects.CreateOpts{
		Name: name, DomainID: "default", Description: "first", Tags: []string{"a", "b"}, Extra: map[string]any{"cost": "center"}}).Extract())
	t.Cleanup(func() { _ = projects.Delete(cleanup(t), client, parent.ID).ExtractErr() })
	if !parent.Enabled || parent.DomainID != "default" || parent.ParentID != "default" || parent.IsDomain || parent.Extra["cost"] != "center" {
		t.Errorf("created: %+v", parent)
	}
	child := must[*projects.Project](t)(projects.Create(t.Context(), client, projects.CreateOpts{Name: unique(t), ParentID: parent.ID}).Extract())
	t.Cleanup(func() { _ = projects.Delete(cleanup(t), client, child.ID).ExtractErr() })
	if child.DomainID != "default" || child.ParentID != parent.ID {
		t.Errorf("child: %+v", child)
	}
	_, err := projects.Create(t.Context(), client, projects.CreateOpts{Name: name, DomainID: "default"}).Extract()
	wantStatus(t, err, http.StatusConflict)
	_, err = projects.Create(t.Context(), client, projects.CreateOpts{Name: strings.Repeat("x", 65)}).Extract()
	wantStatus(t, err, http.StatusBadRequest)
	wantStatus(t, projects.Delete(t.Context(), client, parent.ID).ExtractErr(), http.StatusForbidden)

	text := "second"
	updated := must[*projects.Project](t)(projects.Update(t.Context(), client, parent.ID, projects.UpdateOpts{Description: &text}).Extract())
	if updated.Description != text || updated.Name != name || len(updated.Tags) != 2 || updated.Extra["cost"] != "center" {
		t.Errorf("updated: %+v", updated)
	}
	for _, o := range []projects.ListOpts{{Name: name}, {Tags: "a,b"}} {
		pages := must[[]projects.Project](t)(listProjects(t, client, o))
		if len(pages) == 0 || pages[0].ID != parent.ID && o.Tags == "" {
			t.Errorf("filter %+v found %v", o, pages)
		}
	}
	t.Run("children of a domain", func(t *testing.T) {
		if found := must[[]projects.Project](t)(listProjects(t, client, projects.ListOpts{ParentID: "default", Name: name})); len(found) != 1 {
			t.Errorf("found %v", found)
		}
	})
	if found := must[[]projects.Project](t)(listProjects(t, client, projects.ListOpts{Name: name, Tags: "c"})); len(found) != 0 {
		t.Errorf("a filter that nothing passes found %v", found)
	}
}

func listProjects(t *testing.T, client *gophercloud.ServiceClient, o projects.ListOpts) ([]projects.Project, error) {
	t.Helper()
	pages, err := projects.List(client, o).AllPages(t.Context())
	if err != nil {
		return nil, err
	}
	return projects.ExtractProjects(pages)
}

func TestUserConflictsAndBadInput(t *testing.T) {
	t.Parallel()
	client := admin(t).Identity(t)
	p := newPerson(t)
	_, err := users.Create(t.Context(), client, users.CreateOpts{Name: p.user.Name, DomainID: "default"}).Extract()
	wantStatus(t, err, http.StatusConflict)
	_, err = users.Create(t.Context(), client, users.CreateOpts{Name: unique(t), DomainID: "no-such-domain"}).Extract()
	wantStatus(t, err, http.StatusNotFound)
	for _, body := range []string{`{"user":`, `[]`, `{}`, `{"user":{}}`, `{"user":{"name":1}}`, `{"user":null}`} {
		got := raw(t, http.MethodPost, client.IdentityBase+"v3/users", client.Token(), body, nil)
		if got.status != http.StatusBadRequest || got.at("error", "code") != 400.0 {
			t.Errorf("%s: %d %s", body, got.status, got.text)
		}
	}
}

func TestDomainLifecycle(t *testing.T) {
	t.Parallel()
	client := admin(t).Identity(t)
	domain := must[*domains.Domain](t)(domains.Create(t.Context(), client, domains.CreateOpts{Name: unique(t)}).Extract())
	user := must[*users.User](t)(users.Create(t.Context(), client, users.CreateOpts{Name: "inside", DomainID: domain.ID, Password: "inside"}).Extract())
	err := roles.Assign(t.Context(), client, roleID(t, "reader"), roles.AssignOpts{UserID: user.ID, DomainID: domain.ID}).ExtractErr()
	if err != nil {
		t.Fatal(err)
	}
	scoped, err := try(t, gophercloud.AuthOptions{IdentityEndpoint: client.IdentityBase, Username: "inside", DomainID: domain.ID, Password: "inside",
		Scope: &gophercloud.AuthScope{DomainID: domain.ID}})
	if err != nil {
		t.Fatal(err)
	}
	if d := must[*tokens.Domain](t)(tokens.Get(t.Context(), scoped.Identity(t), scoped.Provider.Token()).ExtractDomain()); d.ID != domain.ID {
		t.Errorf("token is for domain %+v", d)
	}
	wantStatus(t, domains.Delete(t.Context(), client, domain.ID).ExtractErr(), http.StatusForbidden)
	off := false
	must[*domains.Domain](t)(domains.Update(t.Context(), client, domain.ID, domains.UpdateOpts{Enabled: &off}).Extract())
	if err := domains.Delete(t.Context(), client, domain.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, users.Get(t.Context(), client, user.ID).Err, http.StatusNotFound)
}

func TestServiceAndEndpointLifecycle(t *testing.T) {
	t.Parallel()
	clients := admin(t)
	client := clients.Identity(t)
	kind := unique(t)
	service := must[*services.Service](t)(services.Create(t.Context(), client, services.CreateOpts{Type: kind, Name: kind}).Extract())
	t.Cleanup(func() { _ = services.Delete(cleanup(t), client, service.ID).ExtractErr() })
	endpoint := must[*endpoints.Endpoint](t)(endpoints.Create(t.Context(), client, endpoints.CreateOpts{
		Availability: gophercloud.AvailabilityPublic, ServiceID: service.ID, URL: "http://192.0.2.1:9511/v1/%(project_id)s"}).Extract())
	if endpoint.ServiceID != service.ID || !strings.Contains(endpoint.URL, "%(project_id)s") {
		t.Errorf("endpoint %+v", endpoint)
	}
	token := tokens.Get(t.Context(), client, clients.Provider.Token())
	catalog := must[*tokens.ServiceCatalog](t)(token.ExtractServiceCatalog())
	project := must[*tokens.Project](t)(token.ExtractProject())
	found := ""
	for _, entry := range catalog.Entries {
		if entry.Type == kind {
			found = entry.Endpoints[0].URL
		}
	}
	if found != "http://192.0.2.1:9511/v1/"+project.ID {
		t.Errorf("in the catalog: %q", found)
	}
	_, err := endpoints.Create(t.Context(), client, endpoints.CreateOpts{
		Availability: gophercloud.AvailabilityPublic, ServiceID: "no-such-service", URL: "http://192.0.2.1"}).Extract()
	wantStatus(t, err, http.StatusBadRequest)
	if err := services.Delete(t.Context(), client, service.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, endpoints.Delete(t.Context(), client, endpoint.ID).ExtractErr(), http.StatusNotFound)
}
