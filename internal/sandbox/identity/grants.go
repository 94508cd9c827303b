package identity

import (
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// assignmentRoutes returns the routes that assign roles: to users and groups, on projects, domains
// and the system, directly or inherited.
func (k *Keystone) assignmentRoutes() []api.Route {
	routes := []api.Route{{Pattern: "GET /v3/role_assignments", Role: api.Admin, Handle: k.listAssignments}}
	for _, actor := range []string{"users", "groups"} {
		for _, target := range []string{"projects/{target}", "domains/{target}", "system"} {
			path := " /v3/" + target + "/" + actor + "/{actor}/roles"
			routes = append(routes, k.grantRoutes(path, path+"/{role}", grant{actor, target, false})...)
			if target != "system" {
				path = " /v3/OS-INHERIT/" + target + "/" + actor + "/{actor}/roles"
				routes = append(routes, k.grantRoutes(path+"/inherited_to_projects", path+"/{role}/inherited_to_projects", grant{actor, target, true})...)
			}
		}
	}
	return routes
}

// grant is the meaning of one of the paths.
type grant struct {
	actor, target string
	inherited     bool
}

func (k *Keystone) grantRoutes(all, one string, g grant) []api.Route {
	return []api.Route{
		{Pattern: "GET" + all, Role: api.Admin, Handle: func(c *api.Call) error { return k.listGrants(c, g) }},
		{Pattern: "GET" + one, Role: api.Admin, Handle: func(c *api.Call) error { return k.checkGrant(c, g) }},
		{Pattern: "PUT" + one, Role: api.Admin, Handle: func(c *api.Call) error { return k.addGrant(c, g) }},
		{Pattern: "DELETE" + one, Role: api.Admin, Handle: func(c *api.Call) error { return k.removeGrant(c, g) }},
	}
}

// assignment returns the assignment that the path names; the error says which part does not exist.
func (k *Keystone) assignment(c *api.Call, r store.Reader, g grant) (a model.Assignment, err error) {
	a = model.Assignment{RoleID: c.Path("role"), Inherited: g.inherited, System: g.target == "system"}
	switch g.actor {
	case "users":
		a.UserID = c.Path("actor")
		_, err = find(r, k.model.Users, "user", a.UserID)
	default:
		a.GroupID = c.Path("actor")
		_, err = find(r, k.model.Groups, "group", a.GroupID)
	}
	if err != nil {
		return a, err
	}
	switch g.target {
	case "projects/{target}":
		a.ProjectID = c.Path("target")
		_, err = find(r, k.model.Projects, "project", a.ProjectID)
	case "domains/{target}":
		a.DomainID = c.Path("target")
		_, err = k.domain(r, a.DomainID)
	}
	if err == nil && a.RoleID != "" {
		_, err = find(r, k.model.Roles, "role", a.RoleID)
	}
	return a, err
}

func (k *Keystone) listGrants(c *api.Call, g grant) error {
	return c.View(func(r store.Reader) error {
		a, err := k.assignment(c, r, g)
		if err != nil {
			return err
		}
		return k.rolesReply(c, r, func(role model.Role) bool {
			a.RoleID = role.ID
			_, ok := k.model.Assignments.Get(r, a.Key())
			return ok
		})
	})
}

// granted returns the assignment that the path names, if it exists.
func (k *Keystone) granted(c *api.Call, r store.Reader, g grant) (model.Assignment, error) {
	a, err := k.assignment(c, r, g)
	if err != nil {
		return a, err
	}
	if _, ok := k.model.Assignments.Get(r, a.Key()); !ok {
		return a, api.NotFound("Could not find role assignment with role: %s, user or group: %s, project, domain, or system: %s.",
			a.RoleID, a.Actor(), a.Target())
	}
	return a, nil
}

func (k *Keystone) checkGrant(c *api.Call, g grant) error {
	return c.View(func(r store.Reader) error {
		if _, err := k.granted(c, r, g); err != nil {
			return err
		}
		return c.Reply(http.StatusNoContent, nil)
	})
}

func (k *Keystone) addGrant(c *api.Call, g grant) error {
	return c.Update(func(tx *store.Tx) error {
		a, err := k.assignment(c, tx, g)
		if err != nil {
			return err
		}
		k.model.Assignments.Put(tx, a)
		return c.Reply(http.StatusNoContent, nil)
	})
}

func (k *Keystone) removeGrant(c *api.Call, g grant) error {
	return c.Update(func(tx *store.Tx) error {
		a, err := k.granted(c, tx, g)
		if err != nil {
			return err
		}
		k.model.Assignments.Delete(tx, a.Key())
		if a.UserID != "" && a.ProjectID != "" {
			k.forgetRights(tx, a.UserID, a.ProjectID)
		}
		return c.Reply(http.StatusNoContent, nil)
	})
}
