package identity

import (
	"net/http"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

type endpointView struct {
	ID          string `json:"id"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	ServiceID   string `json:"service_id"`
	Region      string `json:"region"`
	RegionID    string `json:"region_id"`
	Interface   string `json:"interface"`
	URL         string `json:"url"`
	Enabled     bool   `json:"enabled"`
	Links       self   `json:"links"`
}

func newEndpointView(c *api.Call, e model.Endpoint) endpointView {
	return endpointView{e.ID, e.Name, e.Description, e.ServiceID, e.RegionID, e.RegionID, e.Interface,
		strings.ReplaceAll(e.URL, BaseURL, c.Base()), e.Enabled, link(c, "/endpoints/"+e.ID)}
}

func (k *Keystone) endpointRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v3/endpoints", Role: api.Admin, Handle: k.listEndpoints},
		{Pattern: "POST /v3/endpoints", Role: api.Admin, Handle: k.createEndpoint},
		{Pattern: "GET /v3/endpoints/{id}", Role: api.Admin, Handle: k.showEndpoint},
		{Pattern: "PATCH /v3/endpoints/{id}", Role: api.Admin, Handle: k.updateEndpoint},
		{Pattern: "DELETE /v3/endpoints/{id}", Role: api.Admin, Handle: k.deleteEndpoint},
	}
}

func (k *Keystone) listEndpoints(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		list := api.List[endpointView]{Key: "endpoints", ID: func(v endpointView) string { return v.ID }, Links: api.SelfLinks}
		return list.Reply(c, func(yield func(endpointView) bool) {
			for e := range k.model.Endpoints.All(r) {
				if !yield(newEndpointView(c, e)) {
					return
				}
			}
		})
	})
}

func (k *Keystone) showEndpoint(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		e, err := find(r, k.model.Endpoints, "endpoint", c.Path("id"))
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"endpoint": newEndpointView(c, e)})
	})
}

type endpointInput struct {
	Name        api.Optional[string] `json:"name"`
	Description api.Optional[string] `json:"description"`
	ServiceID   api.Optional[string] `json:"service_id"`
	Region      api.Optional[string] `json:"region"`
	RegionID    api.Optional[string] `json:"region_id"`
	Interface   api.Optional[string] `json:"interface"`
	URL         api.Optional[string] `json:"url"`
	Enabled     api.Optional[bool]   `json:"enabled"`
}

func (in endpointInput) apply(e *model.Endpoint) {
	in.Name.Apply(&e.Name)
	in.Description.Apply(&e.Description)
	in.ServiceID.Apply(&e.ServiceID)
	in.Region.Apply(&e.RegionID)
	in.RegionID.Apply(&e.RegionID)
	in.Interface.Apply(&e.Interface)
	in.URL.Apply(&e.URL)
	in.Enabled.Apply(&e.Enabled)
}

func (k *Keystone) createEndpoint(c *api.Call) error {
	var in endpointInput
	if err := c.DecodeIn("endpoint", &in); err != nil {
		return err
	}
	return k.putEndpoint(c, model.Endpoint{ID: model.NewKeyID(), Enabled: true}, in, http.StatusCreated)
}

func (k *Keystone) updateEndpoint(c *api.Call) error {
	var in endpointInput
	if err := c.DecodeIn("endpoint", &in); err != nil {
		return err
	}
	return k.putEndpoint(c, model.Endpoint{ID: c.Path("id")}, in, http.StatusOK)
}

// putEndpoint stores an endpoint; it creates the region if that does not exist, as Keystone does
// for the older attribute region.
func (k *Keystone) putEndpoint(c *api.Call, e model.Endpoint, in endpointInput, status int) error {
	return c.Update(func(tx *store.Tx) (err error) {
		if status == http.StatusOK {
			if e, err = find(tx, k.model.Endpoints, "endpoint", e.ID); err != nil {
				return err
			}
		}
		in.apply(&e)
		if !slices.Contains([]string{"public", "internal", "admin"}, e.Interface) || e.URL == "" {
			return api.BadRequest("Invalid input: an endpoint needs a url, and an interface that is public, internal or admin.")
		}
		if _, ok := k.model.Services.Get(tx, e.ServiceID); !ok {
			return api.BadRequest("Could not find service: %s.", e.ServiceID)
		}
		if _, ok := k.model.Regions.Get(tx, e.RegionID); !ok && e.RegionID != "" {
			if in.RegionID.Set {
				return api.BadRequest("Could not find region: %s.", e.RegionID)
			}
			k.model.Regions.Put(tx, model.Region{ID: e.RegionID})
		}
		k.model.Endpoints.Put(tx, e)
		return c.Reply(status, map[string]any{"endpoint": newEndpointView(c, e)})
	})
}

func (k *Keystone) deleteEndpoint(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		if !k.model.Endpoints.Delete(tx, c.Path("id")) {
			return api.NotFound("Could not find endpoint: %s.", c.Path("id"))
		}
		return c.Reply(http.StatusNoContent, nil)
	})
}
