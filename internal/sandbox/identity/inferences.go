package identity

import (
	"net/http"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (k *Keystone) inferenceRoutes() []api.Route {
	const one = " /v3/roles/{id}/implies/{implied}"
	return []api.Route{
		{Pattern: "GET /v3/role_inferences", Role: api.Admin, Handle: k.listInferences},
		{Pattern: "GET /v3/roles/{id}/implies", Role: api.Admin, Handle: k.listImplied},
		{Pattern: "GET" + one, Role: api.Admin, Handle: k.showInference},
		{Pattern: "PUT" + one, Role: api.Admin, Handle: k.createInference},
		{Pattern: "DELETE" + one, Role: api.Admin, Handle: k.deleteInference},
	}
}

type impliedRole struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Links self   `json:"links"`
}

func newImplied(c *api.Call, role model.Role) impliedRole {
	return impliedRole{role.ID, role.Name, link(c, "/roles/"+role.ID)}
}

func (k *Keystone) inference(c *api.Call, r store.Reader, prior model.Role) map[string]any {
	implies := []impliedRole{}
	for _, id := range prior.Implies {
		role, _ := k.model.Roles.Get(r, id)
		implies = append(implies, newImplied(c, role))
	}
	return map[string]any{"prior_role": newImplied(c, prior), "implies": implies}
}

func (k *Keystone) listInferences(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		all := []any{}
		for role := range k.model.Roles.All(r) {
			if len(role.Implies) > 0 {
				all = append(all, k.inference(c, r, role))
			}
		}
		return c.Reply(http.StatusOK, map[string]any{"role_inferences": all, "links": link(c, "/role_inferences")})
	})
}

func (k *Keystone) listImplied(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		prior, err := find(r, k.model.Roles, "role", c.Path("id"))
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"role_inference": k.inference(c, r, prior),
			"links": link(c, "/roles/"+prior.ID+"/implies")})
	})
}

// roles finds both roles of the path.
func (k *Keystone) inferenceRoles(c *api.Call, r store.Reader) (prior, implied model.Role, err error) {
	if prior, err = find(r, k.model.Roles, "role", c.Path("id")); err == nil {
		implied, err = find(r, k.model.Roles, "role", c.Path("implied"))
	}
	return prior, implied, err
}

func (k *Keystone) inferenceReply(c *api.Call, prior, implied model.Role, status int) error {
	return c.Reply(status, map[string]any{
		"role_inference": map[string]any{"prior_role": newImplied(c, prior), "implies": newImplied(c, implied)},
		"links":          link(c, "/roles/"+prior.ID+"/implies/"+implied.ID),
	})
}

func (k *Keystone) showInference(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		prior, implied, err := k.inferenceRoles(c, r)
		if err == nil && !slices.Contains(prior.Implies, implied.ID) {
			err = api.NotFound("%s does not imply %s.", prior.ID, implied.ID)
		}
		if err != nil {
			return err
		}
		return k.inferenceReply(c, prior, implied, http.StatusOK)
	})
}

func (k *Keystone) createInference(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		prior, implied, err := k.inferenceRoles(c, tx)
		if err != nil {
			return err
		}
		if implied.Name == "admin" {
			return api.Forbidden("%s cannot be an implied role.", implied.ID)
		}
		k.model.Roles.Change(tx, prior.ID, func(v *model.Role) { v.Implies = append(without(v.Implies, implied.ID), implied.ID) })
		return k.inferenceReply(c, prior, implied, http.StatusCreated)
	})
}

func (k *Keystone) deleteInference(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		prior, implied, err := k.inferenceRoles(c, tx)
		if err == nil && !slices.Contains(prior.Implies, implied.ID) {
			err = api.NotFound("%s does not imply %s.", prior.ID, implied.ID)
		}
		if err != nil {
			return err
		}
		k.model.Roles.Change(tx, prior.ID, func(v *model.Role) { v.Implies = without(v.Implies, implied.ID) })
		return c.Reply(http.StatusNoContent, nil)
	})
}
