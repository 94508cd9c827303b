package identity

import (
	"net/http"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// BaseURL stands, in the address of an endpoint, for the address at which the client reached the
// cloud.
const BaseURL = "$(base_url)s"

type catalogEntry struct {
	ID        string            `json:"id"`
	Type      string            `json:"type"`
	Name      string            `json:"name"`
	Endpoints []catalogEndpoint `json:"endpoints"`
}

type catalogEndpoint struct {
	ID        string `json:"id"`
	Interface string `json:"interface"`
	Region    string `json:"region"`
	RegionID  string `json:"region_id"`
	URL       string `json:"url"`
}

// catalog lists the enabled services with their endpoints, with the caller's project filled in.
// Endpoints that need a project are left out if the token has none.
func (k *Keystone) catalog(c *api.Call, r store.Reader, p *api.Principal) []catalogEntry {
	byService := map[string][]catalogEndpoint{}
	for e := range k.model.Endpoints.All(r) {
		url, ok := expand(c, e.URL, p)
		if e.Enabled && ok {
			byService[e.ServiceID] = append(byService[e.ServiceID],
				catalogEndpoint{e.ID, e.Interface, e.RegionID, e.RegionID, url})
		}
	}
	entries := []catalogEntry{}
	for v := range k.model.Services.All(r) {
		if v.Enabled {
			entries = append(entries, catalogEntry{v.ID, v.Type, v.Name, append([]catalogEndpoint{}, byService[v.ID]...)})
		}
	}
	return entries
}

// expand fills in the address of an endpoint. An endpoint that needs a project is left out for
// tokens without one.
func expand(c *api.Call, template string, p *api.Principal) (string, bool) {
	url := strings.ReplaceAll(template, BaseURL, c.Base())
	if p.ProjectID == "" && (strings.Contains(url, "project_id)s") || strings.Contains(url, "tenant_id)s")) {
		return "", false
	}
	for _, mark := range []string{"$(project_id)s", "%(project_id)s", "$(tenant_id)s", "%(tenant_id)s"} {
		url = strings.ReplaceAll(url, mark, p.ProjectID)
	}
	for _, mark := range []string{"$(user_id)s", "%(user_id)s"} {
		url = strings.ReplaceAll(url, mark, p.User.ID)
	}
	return url, true
}

func (k *Keystone) authCatalog(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		if len(c.Principal.RoleIDs) == 0 {
			return api.Forbidden("You are not authorized to perform the requested action: get the catalog without a scope.")
		}
		return c.Reply(http.StatusOK, map[string]any{
			"catalog": k.catalog(c, r, c.Principal), "links": link(c, "/auth/catalog"),
		})
	})
}

// authProjects lists the projects for which the caller could get a token.
func (k *Keystone) authProjects(c *api.Call) error {
	return k.reachable(c, c.Principal.UserID(), "projects")
}

func (k *Keystone) authDomains(c *api.Call) error {
	return k.reachable(c, c.Principal.UserID(), "domains")
}

func (k *Keystone) authSystem(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		system := []any{}
		if len(k.effective(r, c.Principal.UserID(), scope{system: true})) > 0 {
			system = append(system, map[string]bool{"all": true})
		}
		return c.Reply(http.StatusOK, map[string]any{"system": system, "links": link(c, "/auth/system")})
	})
}

// reachable lists the projects or domains in which a user has a role; also disabled ones, for which
// nobody gets a token.
func (k *Keystone) reachable(c *api.Call, userID, kind string) error {
	return c.View(func(r store.Reader) error {
		found := func(yield func(projectView) bool) {
			for p := range k.model.Projects.All(r) {
				s := scope{projectID: p.ID}
				if p.IsDomain {
					s = scope{domainID: p.ID}
				}
				if p.IsDomain == (kind == "domains") && len(k.effective(r, userID, s)) > 0 &&
					!yield(newProjectView(c, p)) {
					return
				}
			}
		}
		return projectList(kind).Reply(c, found)
	})
}

// projectList returns the form in which projects and domains are listed.
func projectList(key string) api.List[projectView] {
	filters := api.TagFilters(func(p projectView) []string { return p.Tags })
	filters["name__contains"] = func(p projectView, values []string) bool { return strings.Contains(p.Name, values[0]) }
	filters["is_domain"] = nil
	return api.List[projectView]{Key: key, ID: func(p projectView) string { return p.ID },
		Filters: filters, Render: projectView.render, Links: api.SelfLinks, Inexact: true}
}
