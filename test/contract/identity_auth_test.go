package contract_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
)

func TestAuthByPasswordNamesAndIDs(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	byID := func(o *gophercloud.AuthOptions) { o.UserID = p.user.ID }
	byName := func(o *gophercloud.AuthOptions) { o.Username, o.DomainID = p.user.Name, "default" }
	byDomainName := func(o *gophercloud.AuthOptions) { o.Username, o.DomainName = p.user.Name, "Default" }
	scopes := map[string]*gophercloud.AuthScope{
		"project id":                  {ProjectID: p.project.ID},
		"project name and domain id":  {ProjectName: p.project.Name, DomainID: "default"},
		"project name and its domain": {ProjectName: p.project.Name, DomainName: "Default"},
	}
	for user, set := range map[string]func(*gophercloud.AuthOptions){"id": byID, "name": byName, "domain name": byDomainName} {
		for name, scope := range scopes {
			t.Run(user+" with "+name, func(t *testing.T) {
				t.Parallel()
				o := gophercloud.AuthOptions{IdentityEndpoint: p.endpoint, Password: p.password, Scope: scope}
				set(&o)
				clients, err := try(t, o)
				if err != nil {
					t.Fatal(err)
				}
				token := tokens.Get(t.Context(), clients.Identity(t), clients.Provider.Token())
				project := must[*tokens.Project](t)(token.ExtractProject())
				who := must[*tokens.User](t)(token.ExtractUser())
				if project.ID != p.project.ID || project.Domain.ID != "default" || who.ID != p.user.ID || who.Name != p.user.Name {
					t.Errorf("token is for %+v and %+v", project, who)
				}
			})
		}
	}
}

// A refused login is a 401 with Keystone's error body, and tells nobody
// whether user, password or project was wrong. Tokens and application
// credentials that are not there are not found instead.
func TestAuthRefused(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	stranger := newPerson(t)
	const missing = "no such "
	cases := map[string]string{
		"wrong password":       passwordBody(p.user.ID, "wrong", p.project.ID),
		"unknown user":         passwordBody("0123456789abcdef0123456789abcdef", p.password, p.project.ID),
		"foreign project":      passwordBody(p.user.ID, p.password, stranger.project.ID),
		"unknown project":      passwordBody(p.user.ID, p.password, "0123456789abcdef0123456789abcdef"),
		"unknown method":       `{"auth":{"identity":{"methods":["magic"],"magic":{}}}}`,
		missing + "token":      `{"auth":{"identity":{"methods":["token"],"token":{"id":"gAAAAAnothing"}}}}`,
		missing + "credential": `{"auth":{"identity":{"methods":["application_credential"],"application_credential":{"id":"0123456789abcdef0123456789abcdef","secret":"x"}}}}`,
	}
	for name, body := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := raw(t, http.MethodPost, p.endpoint+"v3/auth/tokens", "", body, nil)
			status, title := 401, "Unauthorized"
			if strings.HasPrefix(name, missing) {
				status, title = 404, "Not Found"
			}
			if got.status != status || got.at("error", "code") != float64(status) || got.at("error", "title") != title {
				t.Errorf("got %d %s", got.status, got.text)
			}
			if message, _ := got.at("error", "message").(string); message == "" || strings.Contains(message, p.password) {
				t.Errorf("message %q", message)
			}
			if got.header.Get("X-Subject-Token") != "" {
				t.Error("a token came with the refusal")
			}
		})
	}
}

func passwordBody(user, password, project string) string {
	return fmt.Sprintf(`{"auth":{"identity":{"methods":["password"],"password":{"user":{"id":%q,"password":%q}}},"scope":{"project":{"id":%q}}}}`,
		user, password, project)
}

func TestAuthMalformed(t *testing.T) {
	t.Parallel()
	endpoint := admin(t).Identity(t).IdentityBase
	for name, body := range map[string]string{
		"no JSON":      `{"auth":`,
		"no auth":      `{}`,
		"no methods":   `{"auth":{"identity":{}}}`,
		"wrong type":   `{"auth":{"identity":{"methods":"password"}}}`,
		"method empty": `{"auth":{"identity":{"methods":["password"]}}}`,
		"no domain":    `{"auth":{"identity":{"methods":["password"],"password":{"user":{"name":"admin","password":"x"}}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := raw(t, http.MethodPost, endpoint+"v3/auth/tokens", "", body, nil)
			if got.status != http.StatusBadRequest || got.at("error", "code") != 400.0 || got.at("error", "title") != "Bad Request" {
				t.Errorf("got %d %s", got.status, got.text)
			}
		})
	}
}

func TestAuthDisabledUserAndProject(t *testing.T) {
	t.Parallel()
	client := admin(t).Identity(t)
	off := false
	for name, disable := range map[string]func(p person) error{
		"user": func(p person) error {
			return users.Update(t.Context(), client, p.user.ID, users.UpdateOpts{Enabled: &off}).Err
		},
		"project": func(p person) error {
			return projects.Update(t.Context(), client, p.project.ID, projects.UpdateOpts{Enabled: &off}).Err
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPerson(t)
			before := p.clients(t)
			if err := disable(p); err != nil {
				t.Fatal(err)
			}
			_, err := try(t, p.options())
			wantStatus(t, err, http.StatusUnauthorized)
			wantStatus(t, users.Get(t.Context(), before.Identity(t), p.user.ID).Err, http.StatusUnauthorized)
		})
	}
}

func TestUnscopedTokenAndItsProjects(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	o := p.options()
	o.Scope = nil
	unscoped, err := try(t, o)
	if err != nil {
		t.Fatal(err)
	}
	got := raw(t, http.MethodGet, p.endpoint+"v3/auth/projects", unscoped.Provider.Token(), "", nil)
	list, _ := got.at("projects").([]any)
	if got.status != http.StatusOK || len(list) != 1 || list[0].(map[string]any)["id"] != p.project.ID {
		t.Errorf("projects of the token: %d %s", got.status, got.text)
	}
	rescoped, err := try(t, gophercloud.AuthOptions{IdentityEndpoint: p.endpoint, TokenID: unscoped.Provider.Token(),
		Scope: &gophercloud.AuthScope{ProjectID: p.project.ID}})
	if err != nil {
		t.Fatalf("rescoping: %v", err)
	}
	token := tokens.Get(t.Context(), rescoped.Identity(t), rescoped.Provider.Token())
	if project := must[*tokens.Project](t)(token.ExtractProject()); project.ID != p.project.ID {
		t.Errorf("rescoped to %s", project.ID)
	}
}

// TestProjectsOfATokenAreAlsoDisabledOnes: nobody gets a token of one, but its users see that
// it is there.
func TestProjectsOfATokenAreAlsoDisabledOnes(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	client := admin(t).Identity(t)
	second := must[*projects.Project](t)(projects.Create(t.Context(), client, projects.CreateOpts{Name: unique(t), DomainID: "default"}).Extract())
	t.Cleanup(func() { _ = projects.Delete(cleanup(t), client, second.ID).ExtractErr() })
	if err := roles.Assign(t.Context(), client, roleID(t, "member"), roles.AssignOpts{UserID: p.user.ID, ProjectID: second.ID}).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	off := false
	if err := projects.Update(t.Context(), client, second.ID, projects.UpdateOpts{Enabled: &off}).Err; err != nil {
		t.Fatal(err)
	}
	pages, err := projects.ListAvailable(p.clients(t).Identity(t)).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	enabled := map[string]bool{}
	for _, one := range must[[]projects.Project](t)(projects.ExtractProjects(pages)) {
		enabled[one.ID] = one.Enabled
	}
	if has, listed := enabled[second.ID]; len(enabled) != 2 || !listed || has || !enabled[p.project.ID] {
		t.Errorf("projects of the token: %v", enabled)
	}
	o := p.options()
	o.Scope = &gophercloud.AuthScope{ProjectID: second.ID}
	_, err = try(t, o)
	wantStatus(t, err, http.StatusUnauthorized)
}

func TestTokenTimes(t *testing.T) {
	t.Parallel()
	clients := newPerson(t).clients(t)
	token := must[*tokens.Token](t)(tokens.Get(t.Context(), clients.Identity(t), clients.Provider.Token()).ExtractToken())
	if left := time.Until(token.ExpiresAt); left < time.Minute || left > 7*24*time.Hour {
		t.Errorf("token expires in %s", left)
	}
}
