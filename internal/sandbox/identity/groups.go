package identity

import (
	"net/http"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

type groupView struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	DomainID    string `json:"domain_id"`
	Links       self   `json:"links"`
	extra       map[string]any
}

func newGroupView(c *api.Call, g model.Group) groupView {
	return groupView{g.ID, g.Name, g.Description, g.DomainID, link(c, "/groups/"+g.ID), g.Extra}
}

func (v groupView) render() any { return flatten(v, v.extra) }

func (k *Keystone) groupRoutes() []api.Route {
	const member = " /v3/groups/{id}/users/{user}"
	return []api.Route{
		{Pattern: "GET /v3/groups", Role: api.Admin, Handle: k.listGroups},
		{Pattern: "POST /v3/groups", Role: api.Admin, Handle: k.createGroup},
		{Pattern: "GET /v3/groups/{id}", Role: api.Admin, Handle: k.showGroup},
		{Pattern: "PATCH /v3/groups/{id}", Role: api.Admin, Handle: k.updateGroup},
		{Pattern: "DELETE /v3/groups/{id}", Role: api.Admin, Handle: k.deleteGroup},
		{Pattern: "GET /v3/groups/{id}/users", Role: api.Admin, Handle: k.groupUsers},
		{Pattern: "PUT" + member, Role: api.Admin, Handle: k.joinGroup},
		{Pattern: "GET" + member, Role: api.Admin, Handle: k.inGroup},
		{Pattern: "DELETE" + member, Role: api.Admin, Handle: k.leaveGroup},
	}
}

// groupsReply lists the groups that pass a test.
func (k *Keystone) groupsReply(c *api.Call, test func(model.Group) bool) error {
	return c.View(func(r store.Reader) error {
		list := api.List[groupView]{Key: "groups", ID: func(v groupView) string { return v.ID }, Render: groupView.render, Links: api.SelfLinks, Inexact: true}
		return list.Reply(c, func(yield func(groupView) bool) {
			for g := range k.model.Groups.All(r) {
				if test(g) && !yield(newGroupView(c, g)) {
					return
				}
			}
		})
	})
}

func (k *Keystone) listGroups(c *api.Call) error {
	return k.groupsReply(c, func(model.Group) bool { return true })
}

func (k *Keystone) userGroups(c *api.Call) error {
	if err := requireSelf(c, c.Path("id")); err != nil {
		return err
	}
	return k.groupsReply(c, func(g model.Group) bool { return slices.Contains(g.Members, c.Path("id")) })
}

func (k *Keystone) showGroup(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		g, err := find(r, k.model.Groups, "group", c.Path("id"))
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"group": newGroupView(c, g).render()})
	})
}

type groupInput struct {
	Name        api.Optional[string] `json:"name"`
	Description api.Optional[string] `json:"description"`
	DomainID    api.Optional[string] `json:"domain_id"`
}

func (k *Keystone) createGroup(c *api.Call) error {
	in, extra, err := decodeExtra[groupInput](c, "group")
	if err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		g := model.Group{ID: model.NewKeyID(), DomainID: in.DomainID.Or(k.callersDomain(tx, c))}
		if _, err := k.domain(tx, g.DomainID); err != nil {
			return err
		}
		return k.putGroup(c, tx, g, in, extra, http.StatusCreated)
	})
}

func (k *Keystone) updateGroup(c *api.Call) error {
	in, extra, err := decodeExtra[groupInput](c, "group")
	if err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		g, err := find(tx, k.model.Groups, "group", c.Path("id"))
		if err != nil {
			return err
		}
		return k.putGroup(c, tx, g, in, extra, http.StatusOK)
	})
}

func (k *Keystone) putGroup(c *api.Call, tx *store.Tx, g model.Group, in groupInput, extra map[string]any, status int) error {
	in.Name.Apply(&g.Name)
	in.Description.Apply(&g.Description)
	g.Extra = merge(g.Extra, extra)
	if err := checkName(g.Name, 64); err != nil {
		return err
	}
	for other := range k.model.Groups.All(tx) {
		if other.ID != g.ID && other.Name == g.Name && other.DomainID == g.DomainID {
			return duplicate("group", "Duplicate entry found with name %s at domain ID %s", g.Name, g.DomainID)
		}
	}
	k.model.Groups.Put(tx, g)
	return c.Reply(status, map[string]any{"group": newGroupView(c, g).render()})
}

func (k *Keystone) deleteGroup(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		if _, err := find(tx, k.model.Groups, "group", c.Path("id")); err != nil {
			return err
		}
		k.forgetActor(tx, c.Path("id"))
		k.model.Groups.Delete(tx, c.Path("id"))
		return c.Reply(http.StatusNoContent, nil)
	})
}

func (k *Keystone) groupUsers(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		g, err := find(r, k.model.Groups, "group", c.Path("id"))
		if err != nil {
			return err
		}
		return userList().Reply(c, k.userViews(c, r, func(u model.User) bool { return slices.Contains(g.Members, u.ID) }))
	})
}

// membership finds the group and the user of the path.
func (k *Keystone) membership(c *api.Call, r store.Reader) (model.Group, string, error) {
	g, err := find(r, k.model.Groups, "group", c.Path("id"))
	if err != nil {
		return g, "", err
	}
	u, err := find(r, k.model.Users, "user", c.Path("user"))
	return g, u.ID, err
}

func (k *Keystone) joinGroup(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		g, user, err := k.membership(c, tx)
		if err != nil {
			return err
		}
		k.model.Groups.Change(tx, g.ID, func(g *model.Group) { g.Members = append(without(g.Members, user), user) })
		return c.Reply(http.StatusNoContent, nil)
	})
}

func (k *Keystone) inGroup(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		g, user, err := k.membership(c, r)
		if err == nil && !slices.Contains(g.Members, user) {
			err = api.NotFound("User '%s' not found in group '%s'.", user, g.ID)
		}
		if err != nil {
			return err
		}
		return c.Reply(http.StatusNoContent, nil)
	})
}

func (k *Keystone) leaveGroup(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		g, user, err := k.membership(c, tx)
		if err == nil && !slices.Contains(g.Members, user) {
			err = api.NotFound("User '%s' not found in group '%s'.", user, g.ID)
		}
		if err != nil {
			return err
		}
		k.model.Groups.Change(tx, g.ID, func(g *model.Group) { g.Members = without(g.Members, user) })
		return c.Reply(http.StatusNoContent, nil)
	})
}
