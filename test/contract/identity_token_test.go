package contract_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
)

func TestTokenValidation(t *testing.T) {
	t.Parallel()
	p, other := newPerson(t), newPerson(t)
	url := p.endpoint + "v3/auth/tokens"
	token, others := p.clients(t).Provider.Token(), other.clients(t).Provider.Token()
	admins := admin(t).Provider.Token()
	for _, c := range []struct {
		name, auth, subject string
		status              int
	}{
		{"own", token, token, http.StatusOK},
		{"by an administrator", admins, token, http.StatusOK},
		{"of somebody else", others, token, http.StatusForbidden},
		{"unknown subject", admins, "gAAAAAunknown", http.StatusNotFound},
		{"without subject", admins, "", http.StatusNotFound},
		{"without token", "", token, http.StatusUnauthorized},
		{"with a wrong token", "gAAAAAunknown", token, http.StatusUnauthorized},
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			t.Run(method+" "+c.name, func(t *testing.T) {
				t.Parallel()
				header := map[string]string{}
				if c.subject != "" {
					header["X-Subject-Token"] = c.subject
				}
				got := raw(t, method, url, c.auth, "", header)
				if got.status != c.status {
					t.Errorf("status %d, want %d: %s", got.status, c.status, got.text)
				}
				if method == http.MethodGet && c.status == http.StatusOK &&
					(got.at("token", "user", "id") != p.user.ID || got.header.Get("X-Subject-Token") != token) {
					t.Errorf("got %s", got.text)
				}
				if method == http.MethodHead && got.text != "" {
					t.Errorf("HEAD has a body: %s", got.text)
				}
			})
		}
	}
}

func TestTokenRevocation(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	first, second := p.clients(t), p.clients(t)
	if err := tokens.Revoke(t.Context(), first.Identity(t), first.Provider.Token()).Err; err != nil {
		t.Fatal(err)
	}
	wantStatus(t, users.Get(t.Context(), first.Identity(t), p.user.ID).Err, http.StatusUnauthorized)
	if err := users.Get(t.Context(), second.Identity(t), p.user.ID).Err; err != nil {
		t.Errorf("another token of the user ended too: %v", err)
	}
	got := raw(t, http.MethodGet, p.endpoint+"v3/auth/tokens", admin(t).Provider.Token(), "",
		map[string]string{"X-Subject-Token": first.Provider.Token()})
	if got.status != http.StatusNotFound {
		t.Errorf("validating a revoked token: %d", got.status)
	}
}

// Losing the last role on a project ends the tokens for it.
func TestTokenEndsWithRole(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	clients := p.clients(t)
	err := roles.Unassign(t.Context(), admin(t).Identity(t), roleID(t, "member"),
		roles.UnassignOpts{UserID: p.user.ID, ProjectID: p.project.ID}).ExtractErr()
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, users.Get(t.Context(), clients.Identity(t), p.user.ID).Err, http.StatusUnauthorized)
	_, err = try(t, p.options())
	wantStatus(t, err, http.StatusUnauthorized)
}

func TestPasswordChange(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	clients := p.clients(t)
	err := users.ChangePassword(t.Context(), clients.Identity(t), p.user.ID,
		users.ChangePasswordOpts{OriginalPassword: "wrong", Password: "other"}).ExtractErr()
	wantStatus(t, err, http.StatusUnauthorized)
	err = users.ChangePassword(t.Context(), clients.Identity(t), p.user.ID,
		users.ChangePasswordOpts{OriginalPassword: p.password, Password: "other-" + p.password}).ExtractErr()
	if err != nil {
		t.Fatal(err)
	}
	_, err = try(t, p.options())
	wantStatus(t, err, http.StatusUnauthorized)
	p.password = "other-" + p.password
	p.clients(t)
}

func TestCatalog(t *testing.T) {
	t.Parallel()
	clients := member(t)
	token := tokens.Get(t.Context(), clients.Identity(t), clients.Provider.Token())
	catalog := must[*tokens.ServiceCatalog](t)(token.ExtractServiceCatalog())
	project := must[*tokens.Project](t)(token.ExtractProject())
	seen := map[string]bool{}
	for _, entry := range catalog.Entries {
		seen[entry.Type] = true
		if entry.ID == "" || entry.Name == "" || len(entry.Endpoints) == 0 {
			t.Errorf("entry %+v is not complete", entry)
		}
		for _, e := range entry.Endpoints {
			if strings.Contains(e.URL, "(") || !strings.HasPrefix(e.URL, "http") || e.RegionID == "" || e.Interface == "" {
				t.Errorf("endpoint %+v of %s", e, entry.Type)
			}
			if entry.Type == "object-store" && e.Interface == "public" && !strings.Contains(e.URL, project.ID) {
				t.Errorf("the endpoint of object-store does not name the project: %s", e.URL)
			}
		}
	}
	if !seen["identity"] {
		t.Error("identity is not in the catalog")
	}
	got := raw(t, http.MethodGet, clients.Identity(t).IdentityBase+"v3/auth/catalog", clients.Provider.Token(), "", nil)
	if list, _ := got.at("catalog").([]any); got.status != http.StatusOK || len(list) != len(catalog.Entries) {
		t.Errorf("auth/catalog: %d %s", got.status, got.text)
	}
}

func TestIdentityVersions(t *testing.T) {
	t.Parallel()
	endpoint := member(t).Identity(t).IdentityBase
	got := raw(t, http.MethodGet, endpoint, "", "", nil)
	values, _ := got.at("versions", "values").([]any)
	if got.status != http.StatusMultipleChoices || len(values) == 0 || values[0].(map[string]any)["status"] != "stable" {
		t.Errorf("versions: %d %s", got.status, got.text)
	}
	for _, path := range []string{"v3", "v3/"} {
		if got := raw(t, http.MethodGet, endpoint+path, "", "", nil); got.status != http.StatusOK || got.at("version", "id") == nil {
			t.Errorf("%s: %d %s", path, got.status, got.text)
		}
	}
	if id := got.header.Get("X-Openstack-Request-Id"); !strings.HasPrefix(id, "req-") {
		t.Errorf("request id %q", id)
	}
}
