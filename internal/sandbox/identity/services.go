package identity

import (
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

type serviceView struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Type        string `json:"type"`
	Description string `json:"description,omitempty"`
	Enabled     bool   `json:"enabled"`
	Links       self   `json:"links"`
	extra       map[string]any
}

func newServiceView(c *api.Call, v model.Service) serviceView {
	return serviceView{v.ID, v.Name, v.Type, v.Description, v.Enabled, link(c, "/services/"+v.ID), v.Extra}
}

func (v serviceView) render() any { return flatten(v, v.extra) }

func (k *Keystone) catalogRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v3/services", Role: api.Admin, Handle: k.listServices},
		{Pattern: "POST /v3/services", Role: api.Admin, Handle: k.createService},
		{Pattern: "GET /v3/services/{id}", Role: api.Admin, Handle: k.showService},
		{Pattern: "PATCH /v3/services/{id}", Role: api.Admin, Handle: k.updateService},
		{Pattern: "DELETE /v3/services/{id}", Role: api.Admin, Handle: k.deleteService},
	}
}

func (k *Keystone) listServices(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		list := api.List[serviceView]{Key: "services", ID: func(v serviceView) string { return v.ID }, Render: serviceView.render, Links: api.SelfLinks}
		return list.Reply(c, func(yield func(serviceView) bool) {
			for v := range k.model.Services.All(r) {
				if !yield(newServiceView(c, v)) {
					return
				}
			}
		})
	})
}

func (k *Keystone) showService(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		v, err := find(r, k.model.Services, "service", c.Path("id"))
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"service": newServiceView(c, v).render()})
	})
}

type serviceInput struct {
	Name        api.Optional[string] `json:"name"`
	Type        api.Optional[string] `json:"type"`
	Description api.Optional[string] `json:"description"`
	Enabled     api.Optional[bool]   `json:"enabled"`
}

func (in serviceInput) apply(v *model.Service) {
	in.Name.Apply(&v.Name)
	in.Type.Apply(&v.Type)
	in.Description.Apply(&v.Description)
	in.Enabled.Apply(&v.Enabled)
}

func (k *Keystone) createService(c *api.Call) error {
	in, extra, err := decodeExtra[serviceInput](c, "service")
	if err != nil {
		return err
	}
	v := model.Service{ID: model.NewKeyID(), Enabled: true, Extra: extra}
	in.apply(&v)
	if v.Type == "" {
		return api.BadRequest("Invalid input for field 'type': it is a required property")
	}
	return c.Update(func(tx *store.Tx) error {
		k.model.Services.Put(tx, v)
		return c.Reply(http.StatusCreated, map[string]any{"service": newServiceView(c, v).render()})
	})
}

func (k *Keystone) updateService(c *api.Call) error {
	in, extra, err := decodeExtra[serviceInput](c, "service")
	if err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		v, err := find(tx, k.model.Services, "service", c.Path("id"))
		if err != nil {
			return err
		}
		in.apply(&v)
		v.Extra = merge(v.Extra, extra)
		k.model.Services.Put(tx, v)
		return c.Reply(http.StatusOK, map[string]any{"service": newServiceView(c, v).render()})
	})
}

// deleteService deletes the service with its endpoints.
func (k *Keystone) deleteService(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		v, err := find(tx, k.model.Services, "service", c.Path("id"))
		if err != nil {
			return err
		}
		for e := range k.model.Endpoints.All(tx) {
			if e.ServiceID == v.ID {
				k.model.Endpoints.Delete(tx, e.ID)
			}
		}
		k.model.Services.Delete(tx, v.ID)
		return c.Reply(http.StatusNoContent, nil)
	})
}
