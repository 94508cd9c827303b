package identity

import (
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (k *Keystone) domainRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v3/domains", Role: api.Admin, Handle: k.listDomains},
		{Pattern: "POST /v3/domains", Role: api.Admin, Handle: k.createDomain},
		{Pattern: "GET /v3/domains/{id}", Role: api.Token, Handle: k.showDomain},
		{Pattern: "PATCH /v3/domains/{id}", Role: api.Admin, Handle: k.updateDomain},
		{Pattern: "DELETE /v3/domains/{id}", Role: api.Admin, Handle: k.deleteDomain},
	}
}

func (k *Keystone) domain(r store.Reader, id string) (model.Project, error) {
	d, ok := k.model.Projects.Get(r, id)
	if !ok || !d.IsDomain {
		return d, api.NotFound("Could not find domain: %s.", id)
	}
	return d, nil
}

func (k *Keystone) listDomains(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		return projectList("domains").Reply(c, func(yield func(projectView) bool) {
			for p := range k.model.Projects.All(r) {
				if p.IsDomain && !yield(newProjectView(c, p)) {
					return
				}
			}
		})
	})
}

func (k *Keystone) showDomain(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		if c.Path("id") != k.callersDomain(r, c) && !c.Principal.Admin() {
			return denied()
		}
		d, err := k.domain(r, c.Path("id"))
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"domain": newProjectView(c, d).render()})
	})
}

func (k *Keystone) createDomain(c *api.Call) error {
	in, extra, err := decodeExtra[projectInput](c, "domain")
	if err != nil {
		return err
	}
	d := model.Project{ID: model.NewKeyID(), Enabled: true, IsDomain: true, Extra: extra}
	in.apply(&d)
	return c.Update(func(tx *store.Tx) error {
		if err := k.checkProjectName(tx, d); err != nil {
			return err
		}
		k.model.Projects.Put(tx, d)
		return c.Reply(http.StatusCreated, map[string]any{"domain": newProjectView(c, d).render()})
	})
}

func (k *Keystone) updateDomain(c *api.Call) error {
	in, extra, err := decodeExtra[projectInput](c, "domain")
	if err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		d, err := k.domain(tx, c.Path("id"))
		if err != nil {
			return err
		}
		if d, err = k.putProject(tx, d, in, extra); err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"domain": newProjectView(c, d).render()})
	})
}

// deleteDomain deletes a disabled domain with everything in it.
func (k *Keystone) deleteDomain(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		d, err := k.domain(tx, c.Path("id"))
		if err != nil {
			return err
		}
		if d.Enabled {
			return api.Forbidden("Cannot delete a domain that is enabled, please disable it first.")
		}
		for user := range k.model.Users.All(tx) {
			if user.DomainID == d.ID {
				k.forgetUser(tx, user.ID)
			}
		}
		for group := range k.model.Groups.All(tx) {
			if group.DomainID == d.ID {
				k.forgetActor(tx, group.ID)
				k.model.Groups.Delete(tx, group.ID)
			}
		}
		for p := range k.model.Projects.All(tx) {
			if p.DomainID == d.ID {
				k.forgetProject(tx, p.ID)
			}
		}
		k.forgetProject(tx, d.ID)
		return c.Reply(http.StatusNoContent, nil)
	})
}

func duplicate(kind, detail string, args ...any) error {
	args = append([]any{kind}, args...)
	return api.Conflict("Conflict occurred attempting to store %s - "+detail+".", args...)
}

func checkName(name string, longest int) error {
	if name == "" || len(name) > longest {
		return api.BadRequest("Invalid input for field 'name': %q has to have 1 to %d characters.", name, longest)
	}
	return nil
}
