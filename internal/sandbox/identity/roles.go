package identity

import (
	"net/http"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

type roleView struct {
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	Description *string        `json:"description"`
	DomainID    *string        `json:"domain_id"`
	Options     map[string]any `json:"options"`
	Links       self           `json:"links"`
	extra       map[string]any
}

func newRoleView(c *api.Call, role model.Role) roleView {
	v := roleView{ID: role.ID, Name: role.Name, Options: object(role.Options), Links: link(c, "/roles/"+role.ID), extra: role.Extra}
	if role.Description != "" {
		v.Description = &role.Description
	}
	if role.DomainID != "" {
		v.DomainID = &role.DomainID
	}
	return v
}

func (v roleView) render() any { return flatten(v, v.extra) }

func (k *Keystone) roleRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v3/roles", Role: api.Admin, Handle: k.listRoles},
		{Pattern: "POST /v3/roles", Role: api.Admin, Handle: k.createRole},
		{Pattern: "GET /v3/roles/{id}", Role: api.Token, Handle: k.showRole},
		{Pattern: "PATCH /v3/roles/{id}", Role: api.Admin, Handle: k.updateRole},
		{Pattern: "DELETE /v3/roles/{id}", Role: api.Admin, Handle: k.deleteRole},
	}
}

// rolesReply lists the roles that pass a test.
func (k *Keystone) rolesReply(c *api.Call, r store.Reader, test func(model.Role) bool) error {
	list := api.List[roleView]{Key: "roles", ID: func(v roleView) string { return v.ID }, Render: roleView.render, Links: api.SelfLinks, Inexact: true}
	return list.Reply(c, func(yield func(roleView) bool) {
		for role := range k.model.Roles.All(r) {
			if test(role) && !yield(newRoleView(c, role)) {
				return
			}
		}
	})
}

// listRoles lists the roles of no domain, unless the query names one.
func (k *Keystone) listRoles(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		return k.rolesReply(c, r, func(role model.Role) bool { return role.DomainID == c.Query("domain_id") })
	})
}

// showRole is for administrators; others learn only whether the role exists.
func (k *Keystone) showRole(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		role, err := find(r, k.model.Roles, "role", c.Path("id"))
		if err == nil && !c.Principal.Admin() {
			err = denied()
		}
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"role": newRoleView(c, role).render()})
	})
}

type roleInput struct {
	Name        api.Optional[string]         `json:"name"`
	Description api.Optional[string]         `json:"description"`
	DomainID    api.Optional[string]         `json:"domain_id"`
	Options     api.Optional[map[string]any] `json:"options"`
}

func (k *Keystone) createRole(c *api.Call) error {
	in, extra, err := decodeExtra[roleInput](c, "role")
	if err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		role := model.Role{ID: model.NewKeyID(), DomainID: in.DomainID.Or("")}
		if role.DomainID != "" {
			if _, err := k.domain(tx, role.DomainID); err != nil {
				return err
			}
		}
		return k.putRole(c, tx, role, in, extra, http.StatusCreated)
	})
}

func (k *Keystone) updateRole(c *api.Call) error {
	in, extra, err := decodeExtra[roleInput](c, "role")
	if err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		role, err := find(tx, k.model.Roles, "role", c.Path("id"))
		if err != nil {
			return err
		}
		if _, unlocks := in.Options.Value["immutable"]; immutable(role) && !unlocks {
			return locked("update", role)
		}
		return k.putRole(c, tx, role, in, extra, http.StatusOK)
	})
}

func (k *Keystone) putRole(c *api.Call, tx *store.Tx, role model.Role, in roleInput, extra map[string]any, status int) error {
	in.Name.Apply(&role.Name)
	in.Description.Apply(&role.Description)
	in.Options.Apply(&role.Options)
	role.Extra = merge(role.Extra, extra)
	if err := checkName(role.Name, 255); err != nil {
		return err
	}
	for other := range k.model.RolesByName.Each(tx, role.Name) {
		if other.ID != role.ID && other.DomainID == role.DomainID {
			return duplicate("role", "Duplicate entry found with name %s", role.Name)
		}
	}
	k.model.Roles.Put(tx, role)
	return c.Reply(status, map[string]any{"role": newRoleView(c, role).render()})
}

// deleteRole deletes the role and removes it from everybody who has it.
func (k *Keystone) deleteRole(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		role, err := find(tx, k.model.Roles, "role", c.Path("id"))
		if err != nil {
			return err
		}
		if immutable(role) {
			return locked("delete", role)
		}
		for a := range k.model.Assignments.All(tx) {
			if a.RoleID == role.ID {
				k.model.Assignments.Delete(tx, a.Key())
			}
		}
		for other := range k.model.Roles.All(tx) {
			if slices.Contains(other.Implies, role.ID) {
				k.model.Roles.Change(tx, other.ID, func(v *model.Role) { v.Implies = without(v.Implies, role.ID) })
			}
		}
		k.model.Roles.Delete(tx, role.ID)
		return c.Reply(http.StatusNoContent, nil)
	})
}

// immutable reports whether a role is protected, as the default ones are.
func immutable(role model.Role) bool { return role.Options["immutable"] == true }

func locked(what string, role model.Role) error {
	return api.Forbidden("Cannot %s immutable resource `role` with ID %s. Update resource and set `immutable` option to false first.", what, role.ID)
}
