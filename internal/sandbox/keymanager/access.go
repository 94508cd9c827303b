package keymanager

import (
	"net/http"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// mayRead reports whether the caller may see a secret or container: one with
// a role in its project unless it is private, its creator, and who is listed.
func mayRead(c *api.Call, m model.KeyMeta, acl *model.KeyACL) bool {
	p := c.Principal
	if acl != nil && slices.Contains(acl.Users, p.UserID()) || p.Admin() {
		return true
	}
	if p.ProjectID != m.ProjectID || !(p.Has("reader") || p.Has("member")) {
		return false
	}
	return acl == nil || acl.ProjectAccess || p.UserID() == m.CreatorID
}

// mayDecrypt is mayRead without those of the project who only look.
func mayDecrypt(c *api.Call, m model.KeyMeta, acl *model.KeyACL) bool {
	listed := acl != nil && slices.Contains(acl.Users, c.Principal.UserID())
	return mayRead(c, m, acl) && (listed || c.Principal.Has("member") || c.Principal.Admin())
}

// mayDelete is for what changes: the project's members, unless it is private.
func mayDelete(c *api.Call, m model.KeyMeta, acl *model.KeyACL) bool {
	p := c.Principal
	if p.Admin() {
		return true
	}
	private := acl != nil && !acl.ProjectAccess
	return p.ProjectID == m.ProjectID && p.Has("member") && (!private || p.UserID() == m.CreatorID)
}

func (s *service) aclRoutes() []api.Route {
	secrets := aclTarget{kind: "Secret", path: "/v1/secrets/",
		find: func(c *api.Call, r store.Reader) (model.KeyMeta, *model.KeyACL, error) {
			v, err := s.secret(c, r, "ACL access", mayDelete)
			return v.KeyMeta, v.ACL, err
		},
		put: func(tx *store.Tx, id string, acl *model.KeyACL) {
			s.model.Secrets.Change(tx, id, func(v *model.Secret) { v.ACL = acl })
		}}
	containers := aclTarget{kind: "Container", path: "/v1/containers/",
		find: func(c *api.Call, r store.Reader) (model.KeyMeta, *model.KeyACL, error) {
			v, err := s.container(c, r, "ACL access", mayDelete)
			return v.KeyMeta, v.ACL, err
		},
		put: func(tx *store.Tx, id string, acl *model.KeyACL) {
			s.model.Containers.Change(tx, id, func(v *model.SecretContainer) { v.ACL = acl })
		}}
	return append(secrets.routes(s), containers.routes(s)...)
}

// aclTarget is what has an access list.
type aclTarget struct {
	kind, path string
	find       func(c *api.Call, r store.Reader) (model.KeyMeta, *model.KeyACL, error)
	put        func(tx *store.Tx, id string, acl *model.KeyACL)
}

func (t aclTarget) routes(s *service) []api.Route {
	pattern := t.path + "{id}/acl"
	return []api.Route{
		{Pattern: "GET " + pattern, Role: api.Member, Handle: t.show},
		{Pattern: "PUT " + pattern, Role: api.Member, Handle: func(c *api.Call) error { return t.set(s, c, false) }},
		{Pattern: "PATCH " + pattern, Role: api.Member, Handle: func(c *api.Call) error { return t.set(s, c, true) }},
		{Pattern: "DELETE " + pattern, Role: api.Member, Handle: t.remove},
	}
}

func (t aclTarget) show(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		_, acl, err := t.find(c, r)
		if err != nil {
			return err
		}
		if acl == nil {
			return c.Reply(http.StatusOK, map[string]any{"read": map[string]bool{"project-access": true}})
		}
		return c.Reply(http.StatusOK, map[string]any{"read": acl})
	})
}

// set replaces an access list; merge keeps of it what is not said.
func (t aclTarget) set(s *service, c *api.Call, merge bool) error {
	var in map[string]struct {
		Users         *[]string `json:"users"`
		ProjectAccess *bool     `json:"project-access"`
	}
	if err := c.Decode(&in); err != nil {
		return err
	}
	read, ok := in["read"]
	if !ok && len(in) > 0 {
		return mismatch("ACL", "read", "Additional properties are not allowed")
	}
	return c.Update(func(tx *store.Tx) error {
		m, acl, err := t.find(c, tx)
		if err != nil {
			return err
		}
		next := model.KeyACL{Users: []string{}, ProjectAccess: true, Created: s.now(), Updated: s.now()}
		if acl != nil {
			next.Created = acl.Created
			if merge {
				next.Users, next.ProjectAccess = acl.Users, acl.ProjectAccess
			}
		}
		if read.Users != nil {
			next.Users = *read.Users
		}
		if read.ProjectAccess != nil {
			next.ProjectAccess = *read.ProjectAccess
		}
		t.put(tx, m.ID, &next)
		return c.Reply(http.StatusOK, map[string]string{"acl_ref": c.URL(t.path + m.ID + "/acl")})
	})
}

func (t aclTarget) remove(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		m, _, err := t.find(c, tx)
		if err != nil {
			return err
		}
		t.put(tx, m.ID, nil)
		return c.Reply(http.StatusOK, nil)
	})
}
