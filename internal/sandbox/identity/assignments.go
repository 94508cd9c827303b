package identity

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// listAssignments lists who has which role where; with effective=true groups
// are resolved to their users, inheritance to projects, and implied roles are
// listed as if they were given.
func (k *Keystone) listAssignments(c *api.Call) error {
	query := c.Request.URL.Query()
	return c.View(func(r store.Reader) error {
		all := slices.Collect(k.model.Assignments.All(r))
		if flag(query, "effective") {
			all = k.resolve(r, all)
		}
		views := []any{}
		for _, a := range all {
			if k.asked(r, a, query) {
				views = append(views, k.assignmentView(c, r, a, flag(query, "include_names")))
			}
		}
		return c.Reply(http.StatusOK, map[string]any{"role_assignments": views,
			"links": map[string]any{"self": c.URL("/v3/role_assignments"), "previous": nil, "next": nil}})
	})
}

// flag reads a parameter that is true if it is present.
func flag(query url.Values, name string) bool {
	return query.Has(name) && !slices.Contains([]string{"0", "false", "False"}, query.Get(name))
}

func (k *Keystone) asked(r store.Reader, a model.Assignment, query url.Values) bool {
	for name, value := range map[string]string{
		"user.id": a.UserID, "group.id": a.GroupID, "role.id": a.RoleID, "scope.domain.id": a.DomainID,
	} {
		if query.Has(name) && query.Get(name) != value {
			return false
		}
	}
	if id := query.Get("scope.project.id"); id != "" && id != a.ProjectID &&
		!(flag(query, "include_subtree") && slices.Contains(k.ancestors(r, a.ProjectID), id)) {
		return false
	}
	return (!query.Has("scope.system") || a.System) && (!query.Has("scope.OS-INHERIT:inherited_to") || a.Inherited)
}

// resolve turns assignments into their effective ones.
func (k *Keystone) resolve(r store.Reader, all []model.Assignment) []model.Assignment {
	seen := map[string]bool{}
	var result []model.Assignment
	for _, a := range all {
		for _, userID := range k.usersOf(r, a) {
			for _, s := range k.scopesOf(r, a) {
				for _, roleID := range k.imply(r, map[string]bool{a.RoleID: true}) {
					one := model.Assignment{RoleID: roleID, UserID: userID, ProjectID: s.projectID, DomainID: s.domainID, System: s.system}
					if !seen[one.Key()] {
						seen[one.Key()] = true
						result = append(result, one)
					}
				}
			}
		}
	}
	return result
}

func (k *Keystone) usersOf(r store.Reader, a model.Assignment) []string {
	if a.UserID != "" {
		return []string{a.UserID}
	}
	group, _ := k.model.Groups.Get(r, a.GroupID)
	return group.Members
}

func (k *Keystone) scopesOf(r store.Reader, a model.Assignment) []scope {
	if !a.Inherited {
		return []scope{{a.ProjectID, a.DomainID, a.System}}
	}
	var scopes []scope
	for p := range k.model.Projects.All(r) {
		if !p.IsDomain && slices.Contains(k.ancestors(r, p.ID), a.Target()) {
			scopes = append(scopes, scope{projectID: p.ID})
		}
	}
	return scopes
}

func (k *Keystone) assignmentView(c *api.Call, r store.Reader, a model.Assignment, names bool) map[string]any {
	where := map[string]any{}
	path := "/system"
	switch {
	case a.System:
		where["system"] = map[string]bool{"all": true}
	case a.ProjectID != "":
		project, _ := k.model.Projects.Get(r, a.ProjectID)
		where["project"] = k.maybeNamed(r, names, a.ProjectID, project.Name, project.DomainID)
		path = "/projects/" + a.ProjectID
	default:
		domain, _ := k.model.Projects.Get(r, a.DomainID)
		where["domain"] = k.maybeNamed(r, names, a.DomainID, domain.Name, "")
		path = "/domains/" + a.DomainID
	}
	if a.Inherited {
		where["OS-INHERIT:inherited_to"] = "projects"
	}
	role, _ := k.model.Roles.Get(r, a.RoleID)
	view := map[string]any{"role": k.maybeNamed(r, names, a.RoleID, role.Name, role.DomainID), "scope": where}
	if a.UserID != "" {
		user, _ := k.model.Users.Get(r, a.UserID)
		view["user"] = k.maybeNamed(r, names, a.UserID, user.Name, user.DomainID)
		path += "/users/" + a.UserID
	} else {
		group, _ := k.model.Groups.Get(r, a.GroupID)
		view["group"] = k.maybeNamed(r, names, a.GroupID, group.Name, group.DomainID)
		path += "/groups/" + a.GroupID
	}
	view["links"] = map[string]string{"assignment": c.URL("/v3" + path + "/roles/" + a.RoleID)}
	return view
}

func (k *Keystone) maybeNamed(r store.Reader, names bool, id, name, domainID string) any {
	if !names {
		return map[string]string{"id": id}
	}
	v := named{ID: id, Name: name}
	if domainID != "" {
		v.Domain = k.domainRef(r, domainID)
	}
	return v
}
