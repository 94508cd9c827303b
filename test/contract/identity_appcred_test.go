package contract_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

type appCred = applicationcredentials.ApplicationCredential

func createAppCred(t *testing.T, p person, as sandboxtest.Clients, o applicationcredentials.CreateOpts) (*appCred, error) {
	t.Helper()
	if o.Name == "" {
		o.Name = unique(t)
	}
	return applicationcredentials.Create(t.Context(), as.Identity(t), p.user.ID, o).Extract()
}

func (p person) withAppCred(t *testing.T, cred *appCred) (sandboxtest.Clients, error) {
	t.Helper()
	return try(t, gophercloud.AuthOptions{IdentityEndpoint: p.endpoint,
		ApplicationCredentialID: cred.ID, ApplicationCredentialSecret: cred.Secret})
}

func TestAppCredLogin(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	cred := must[*appCred](t)(createAppCred(t, p, p.clients(t), applicationcredentials.CreateOpts{Description: "for a test"}))
	if cred.Secret == "" || cred.ProjectID != p.project.ID || cred.Unrestricted || len(cred.Roles) == 0 {
		t.Errorf("created: %+v", cred)
	}
	byID := must[sandboxtest.Clients](t)(p.withAppCred(t, cred))
	token := tokens.Get(t.Context(), byID.Identity(t), byID.Provider.Token())
	if project := must[*tokens.Project](t)(token.ExtractProject()); project.ID != p.project.ID {
		t.Errorf("token is for project %s", project.ID)
	}
	for name, o := range map[string]gophercloud.AuthOptions{
		"name and user id":   {UserID: p.user.ID},
		"name and user name": {Username: p.user.Name, DomainID: "default"},
	} {
		o.IdentityEndpoint, o.ApplicationCredentialName, o.ApplicationCredentialSecret = p.endpoint, cred.Name, cred.Secret
		if _, err := try(t, o); err != nil {
			t.Errorf("login by %s: %v", name, err)
		}
	}
	wrong := *cred
	wrong.Secret = "wrong"
	_, err := p.withAppCred(t, &wrong)
	wantStatus(t, err, http.StatusUnauthorized)
}

func TestAppCredShowsNoSecretLater(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	clients := p.clients(t)
	cred := must[*appCred](t)(createAppCred(t, p, clients, applicationcredentials.CreateOpts{Secret: "chosen by the user"}))
	if cred.Secret != "chosen by the user" {
		t.Errorf("secret %q", cred.Secret)
	}
	if _, err := p.withAppCred(t, cred); err != nil {
		t.Errorf("login by a chosen secret: %v", err)
	}
	wrong := *cred
	wrong.Secret = "chosen by another"
	_, err := p.withAppCred(t, &wrong)
	wantStatus(t, err, http.StatusUnauthorized)
	url := p.endpoint + "v3/users/" + p.user.ID + "/application_credentials/" + cred.ID
	got := raw(t, http.MethodGet, url, clients.Provider.Token(), "", nil)
	about, _ := got.at("application_credential").(map[string]any)
	if _, there := about["secret"]; got.status != http.StatusOK || there || about["id"] != cred.ID {
		t.Errorf("got %d %s", got.status, got.text)
	}
	if err := applicationcredentials.Delete(t.Context(), clients.Identity(t), p.user.ID, cred.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, applicationcredentials.Get(t.Context(), clients.Identity(t), p.user.ID, cred.ID).Err, http.StatusNotFound)
	_, err = p.withAppCred(t, cred)
	wantStatus(t, err, http.StatusNotFound) // Keystone does not hide which there are
}

func TestAppCredRoles(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	cred := must[*appCred](t)(createAppCred(t, p, p.clients(t), applicationcredentials.CreateOpts{
		Roles: []applicationcredentials.Role{{Name: "reader"}}}))
	clients := must[sandboxtest.Clients](t)(p.withAppCred(t, cred))
	has := must[[]tokens.Role](t)(tokens.Get(t.Context(), clients.Identity(t), clients.Provider.Token()).ExtractRoles())
	if len(has) != 1 || has[0].Name != "reader" {
		t.Errorf("roles of the token: %+v", has)
	}
	_, err := createAppCred(t, p, p.clients(t), applicationcredentials.CreateOpts{
		Roles: []applicationcredentials.Role{{ID: roleID(t, "admin")}}})
	wantStatus(t, err, http.StatusBadRequest)
	_, err = createAppCred(t, p, p.clients(t), applicationcredentials.CreateOpts{
		Roles: []applicationcredentials.Role{{Name: "no such role"}}})
	wantStatus(t, err, http.StatusNotFound)
}

// A user who loses a role loses the credentials that rest on it.
func TestAppCredEndsWithRole(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	cred := must[*appCred](t)(createAppCred(t, p, p.clients(t), applicationcredentials.CreateOpts{}))
	must[sandboxtest.Clients](t)(p.withAppCred(t, cred))
	err := roles.Unassign(t.Context(), admin(t).Identity(t), roleID(t, "member"),
		roles.UnassignOpts{UserID: p.user.ID, ProjectID: p.project.ID}).ExtractErr()
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.withAppCred(t, cred)
	// Keystone remembers deleted ones for a while; then it does not find them.
	if !gophercloud.ResponseCodeIs(err, http.StatusUnauthorized) && !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		t.Errorf("got %v, want a refusal", err)
	}
}

func TestAppCredRestriction(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	restricted := must[*appCred](t)(createAppCred(t, p, p.clients(t), applicationcredentials.CreateOpts{}))
	clients := must[sandboxtest.Clients](t)(p.withAppCred(t, restricted))
	_, err := createAppCred(t, p, clients, applicationcredentials.CreateOpts{})
	wantStatus(t, err, http.StatusForbidden)
	err = applicationcredentials.Delete(t.Context(), clients.Identity(t), p.user.ID, restricted.ID).ExtractErr()
	wantStatus(t, err, http.StatusForbidden)

	free := must[*appCred](t)(createAppCred(t, p, p.clients(t), applicationcredentials.CreateOpts{Unrestricted: true}))
	clients = must[sandboxtest.Clients](t)(p.withAppCred(t, free))
	if _, err := createAppCred(t, p, clients, applicationcredentials.CreateOpts{}); err != nil {
		t.Errorf("an unrestricted credential made none: %v", err)
	}
}

func TestAppCredExpiry(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	begin, past := time.Now(), time.Now().Add(-time.Hour)
	_, err := createAppCred(t, p, p.clients(t), applicationcredentials.CreateOpts{ExpiresAt: &past})
	wantStatus(t, err, http.StatusBadRequest)
	// A login and a creation must fit in, as long as they take on this cloud.
	soon := time.Now().Add(4*time.Second + 4*time.Since(begin))
	cred := must[*appCred](t)(createAppCred(t, p, p.clients(t), applicationcredentials.CreateOpts{ExpiresAt: &soon}))
	if cred.ExpiresAt.Sub(soon).Abs() > time.Second {
		t.Errorf("expires at %s, want %s", cred.ExpiresAt, soon)
	}
	clients := must[sandboxtest.Clients](t)(p.withAppCred(t, cred))
	eventually(t, "the credential is refused", func() bool {
		_, err := p.withAppCred(t, cred)
		return gophercloud.ResponseCodeIs(err, http.StatusUnauthorized)
	})
	wantStatus(t, users.Get(t.Context(), clients.Identity(t), p.user.ID).Err, http.StatusUnauthorized)
}

func TestAppCredAccessRules(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	own := "/v3/users/" + p.user.ID
	cred := must[*appCred](t)(createAppCred(t, p, p.clients(t), applicationcredentials.CreateOpts{
		AccessRules: []applicationcredentials.AccessRule{
			{Service: "identity", Method: "GET", Path: "/v3/users/*"},
			{Service: "identity", Method: "GET", Path: "/v3/auth/**"},
			{Service: "compute", Method: "GET", Path: "/v3/regions"},
		}}))
	if len(cred.AccessRules) != 3 || cred.AccessRules[0].ID == "" {
		t.Errorf("access rules: %+v", cred.AccessRules)
	}
	token := must[sandboxtest.Clients](t)(p.withAppCred(t, cred)).Provider.Token()
	base := p.endpoint[:len(p.endpoint)-1]
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{http.MethodGet, own, http.StatusOK},
		{http.MethodGet, "/v3/auth/projects", http.StatusOK},
		{http.MethodGet, own + "/projects", http.StatusUnauthorized},
		{http.MethodPost, own + "/application_credentials", http.StatusUnauthorized},
		{http.MethodGet, "/v3/regions", http.StatusUnauthorized},
	} {
		if got := raw(t, c.method, base+c.path, token, "", nil); got.status != c.status {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, got.status, c.status)
		}
	}
	err := applicationcredentials.DeleteAccessRule(t.Context(), p.clients(t).Identity(t), p.user.ID, cred.AccessRules[0].ID).ExtractErr()
	wantStatus(t, err, http.StatusForbidden)
}

func TestAppCredBelongsToItsUser(t *testing.T) {
	t.Parallel()
	p, other := newPerson(t), newPerson(t)
	cred := must[*appCred](t)(createAppCred(t, p, p.clients(t), applicationcredentials.CreateOpts{}))
	foreign := other.clients(t)
	wantStatus(t, applicationcredentials.Get(t.Context(), foreign.Identity(t), p.user.ID, cred.ID).Err, http.StatusForbidden)
	_, err := createAppCred(t, p, foreign, applicationcredentials.CreateOpts{})
	wantStatus(t, err, http.StatusForbidden)
	_, err = createAppCred(t, p, p.clients(t), applicationcredentials.CreateOpts{Name: cred.Name})
	wantStatus(t, err, http.StatusConflict)
}
