package identity

import (
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// projectView is a project, or a domain, as clients see it.
type projectView struct {
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Enabled     bool           `json:"enabled"`
	DomainID    *string        `json:"domain_id,omitempty"`
	ParentID    *string        `json:"parent_id,omitempty"`
	IsDomain    *bool          `json:"is_domain,omitempty"`
	Tags        []string       `json:"tags"`
	Options     map[string]any `json:"options"`
	Links       self           `json:"links"`
	extra       map[string]any
}

func newProjectView(c *api.Call, p model.Project) projectView {
	v := projectView{ID: p.ID, Name: p.Name, Description: p.Description, Enabled: p.Enabled,
		Tags: append([]string{}, p.Tags...), Options: object(p.Options), extra: p.Extra, Links: link(c, "/domains/"+p.ID)}
	if !p.IsDomain {
		v.DomainID, v.ParentID, v.IsDomain, v.Links = &p.DomainID, &p.ParentID, &p.IsDomain, link(c, "/projects/"+p.ID)
	}
	return v
}

// asProject returns the view of the projects API: there, a domain is a project that acts as a
// domain.
func (v projectView) asProject(c *api.Call, p model.Project) any {
	v.IsDomain, v.Links = &p.IsDomain, link(c, "/projects/"+p.ID)
	return v.render()
}

func (v projectView) render() any { return flatten(v, v.extra) }

func (k *Keystone) projectRoutes() []api.Route {
	tags := api.Tags{Path: "/v3/projects/{id}", Read: api.Token, Write: api.Admin, Max: 255,
		Get: func(c *api.Call, r store.Reader) ([]string, error) {
			project, err := k.visibleProject(c, r)
			return project.Tags, err
		},
		Put: func(c *api.Call, tx *store.Tx, tags []string) {
			k.model.Projects.Change(tx, c.Path("id"), func(p *model.Project) { p.Tags = tags })
		}}
	return append(tags.Routes(),
		api.Route{Pattern: "GET /v3/projects", Role: api.Admin, Handle: k.listProjects},
		api.Route{Pattern: "POST /v3/projects", Role: api.Admin, Handle: k.createProject},
		api.Route{Pattern: "GET /v3/projects/{id}", Role: api.Token, Handle: k.showProject},
		api.Route{Pattern: "PATCH /v3/projects/{id}", Role: api.Admin, Handle: k.updateProject},
		api.Route{Pattern: "DELETE /v3/projects/{id}", Role: api.Admin, Handle: k.deleteProject},
	)
}

func (k *Keystone) listProjects(c *api.Call) error {
	domains := c.Query("is_domain") == "true" || c.Query("is_domain") == "True"
	return c.View(func(r store.Reader) error {
		projects := k.model.Projects.All(r)
		if name := c.Query("name"); name != "" {
			projects = k.model.ProjectsByName.Each(r, name)
		}
		return projectList("projects").Reply(c, func(yield func(projectView) bool) {
			for p := range projects {
				if p.IsDomain == domains && !yield(newProjectView(c, p)) {
					return
				}
			}
		})
	})
}

// visibleProject returns the project in the path, if it is the caller's scope or the caller is an
// administrator.
func (k *Keystone) visibleProject(c *api.Call, r store.Reader) (model.Project, error) {
	p, err := find(r, k.model.Projects, "project", c.Path("id"))
	if !c.Principal.Owns(c.Path("id")) {
		return p, denied()
	}
	return p, err
}

func (k *Keystone) showProject(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		p, err := k.visibleProject(c, r)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"project": newProjectView(c, p).asProject(c, p)})
	})
}

// projectInput is a project or domain to create or change.
type projectInput struct {
	Name        api.Optional[string]         `json:"name"`
	Description api.Optional[string]         `json:"description"`
	DomainID    api.Optional[string]         `json:"domain_id"`
	ParentID    api.Optional[string]         `json:"parent_id"`
	Enabled     api.Optional[bool]           `json:"enabled"`
	IsDomain    api.Optional[bool]           `json:"is_domain"`
	Tags        api.Optional[[]string]       `json:"tags"`
	Options     api.Optional[map[string]any] `json:"options"`
}

func (in projectInput) apply(p *model.Project) {
	in.Name.Apply(&p.Name)
	in.Description.Apply(&p.Description)
	in.Enabled.Apply(&p.Enabled)
	in.Tags.Apply(&p.Tags)
	in.Options.Apply(&p.Options)
}

func (k *Keystone) createProject(c *api.Call) error {
	in, extra, err := decodeExtra[projectInput](c, "project")
	if err != nil {
		return err
	}
	p := model.Project{ID: model.NewKeyID(), Enabled: true, Extra: extra, IsDomain: in.IsDomain.Value}
	in.apply(&p)
	return c.Update(func(tx *store.Tx) error {
		if !p.IsDomain {
			p.DomainID, p.ParentID = in.DomainID.Or(k.callersDomain(tx, c)), in.ParentID.Or("")
			if parent, ok := k.model.Projects.Get(tx, p.ParentID); ok && !parent.IsDomain {
				p.DomainID = parent.DomainID
			} else if p.ParentID == "" {
				p.ParentID = p.DomainID
			}
			if _, err := find(tx, k.model.Projects, "project", p.ParentID); err != nil {
				return err
			}
			if _, err := k.domain(tx, p.DomainID); err != nil {
				return err
			}
		}
		if err := k.checkProjectName(tx, p); err != nil {
			return err
		}
		k.model.Projects.Put(tx, p)
		return c.Reply(http.StatusCreated, map[string]any{"project": newProjectView(c, p).asProject(c, p)})
	})
}

// callersDomain returns the caller's domain, which new objects get when the request names none.
func (k *Keystone) callersDomain(r store.Reader, c *api.Call) string {
	if c.Principal.DomainID != "" {
		return c.Principal.DomainID
	}
	if p, ok := k.model.Projects.Get(r, c.Principal.ProjectID); ok {
		return p.DomainID
	}
	return c.Principal.User.DomainID
}

// checkProjectName refuses a name that is empty, too long, or already used in the domain.
func (k *Keystone) checkProjectName(r store.Reader, p model.Project) error {
	kind := "project"
	if p.IsDomain {
		kind = "domain"
	}
	if err := checkName(p.Name, 64); err != nil {
		return err
	}
	for other := range k.model.ProjectsByName.Each(r, p.Name) {
		if other.ID != p.ID && other.IsDomain == p.IsDomain && other.DomainID == p.DomainID {
			return duplicate(kind, "Duplicate entry found with name %s at domain ID %s", p.Name, p.DomainID)
		}
	}
	return nil
}

func (k *Keystone) updateProject(c *api.Call) error {
	in, extra, err := decodeExtra[projectInput](c, "project")
	if err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		p, err := find(tx, k.model.Projects, "project", c.Path("id"))
		if err != nil {
			return err
		}
		if in.DomainID.Set && in.DomainID.Value != p.DomainID || in.ParentID.Set && in.ParentID.Value != p.ParentID {
			return api.Forbidden("Update of `parent_id` or `domain_id` is not allowed.")
		}
		if p, err = k.putProject(tx, p, in, extra); err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"project": newProjectView(c, p).asProject(c, p)})
	})
}

// putProject changes a project or a domain.
func (k *Keystone) putProject(tx *store.Tx, p model.Project, in projectInput, extra map[string]any) (model.Project, error) {
	in.apply(&p)
	p.Extra = merge(p.Extra, extra)
	if err := k.checkProjectName(tx, p); err != nil {
		return p, err
	}
	k.model.Projects.Put(tx, p)
	return p, nil
}

func (k *Keystone) deleteProject(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		p, err := find(tx, k.model.Projects, "project", c.Path("id"))
		if err != nil {
			return err
		}
		if p.IsDomain && p.Enabled {
			return api.Forbidden("Cannot delete a domain that is enabled, please disable it first.")
		}
		if k.model.ProjectsIn.Count(tx, p.ID) > 0 {
			return api.Forbidden("Cannot delete project %s: it has child projects.", p.ID)
		}
		k.forgetProject(tx, p.ID)
		return c.Reply(http.StatusNoContent, nil)
	})
}

// forgetProject deletes a project with everything in Keystone that belongs to it.
func (k *Keystone) forgetProject(tx *store.Tx, id string) {
	for a := range k.model.AssignmentsOn.Each(tx, id) {
		k.model.Assignments.Delete(tx, a.Key())
	}
	for cred := range k.model.AppCreds.All(tx) {
		if cred.ProjectID == id {
			k.model.AppCreds.Delete(tx, cred.ID)
		}
	}
	for trust := range k.model.Trusts.All(tx) {
		if trust.ProjectID == id {
			k.model.Trusts.Delete(tx, trust.ID)
		}
	}
	for cred := range k.model.Credentials.All(tx) {
		if cred.ProjectID == id {
			k.model.Credentials.Delete(tx, cred.ID)
		}
	}
	k.model.Projects.Delete(tx, id)
}
