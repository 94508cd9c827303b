package compute

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) flavorSpecRoutes() []api.Route {
	const all, one = "/v2.1/flavors/{id}/os-extra_specs", "/v2.1/flavors/{id}/os-extra_specs/{key}"
	return []api.Route{
		{Pattern: "GET " + all, Role: api.Reader, Handle: s.listSpecs},
		{Pattern: "POST " + all, Role: api.Admin, Handle: s.createSpecs},
		{Pattern: "GET " + one, Role: api.Reader, Handle: s.showSpec},
		{Pattern: "PUT " + one, Role: api.Admin, Handle: s.updateSpec},
		{Pattern: "DELETE " + one, Role: api.Admin, Handle: s.deleteSpec},
	}
}

func (s *service) listSpecs(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		f, err := s.flavor(c, r, c.Path("id"))
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"extra_specs": orEmpty(f.ExtraSpecs)})
	})
}

func (s *service) showSpec(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		f, err := s.flavor(c, r, c.Path("id"))
		if err != nil {
			return err
		}
		value, ok := f.ExtraSpecs[c.Path("key")]
		if !ok {
			return noSpec(c)
		}
		return c.Reply(http.StatusOK, map[string]string{c.Path("key"): value})
	})
}

func noSpec(c *api.Call) error {
	return api.NotFound("Flavor %s has no extra specs with key %s.", c.Path("id"), c.Path("key"))
}

// specs turns the values of a request into text: numbers are allowed too.
func specs(in map[string]any) (map[string]string, error) {
	out := map[string]string{}
	for key, value := range in {
		switch v := value.(type) {
		case string:
			out[key] = v
		case float64, json.Number:
			encoded, _ := json.Marshal(v)
			out[key] = string(encoded)
		default:
			return nil, api.BadRequest("Invalid input for field/attribute %s. Value: %v. %v is not of type 'string', 'number'", key, value, value)
		}
		if len(key) == 0 || len(key) > 255 || len(out[key]) > 255 {
			return nil, api.BadRequest("Invalid input for field/attribute extra_specs. %q is too short or too long", key)
		}
	}
	return out, nil
}

func (s *service) createSpecs(c *api.Call) error {
	var in map[string]any
	if err := c.DecodeIn("extra_specs", &in); err != nil {
		return err
	}
	added, err := specs(in)
	if err != nil {
		return err
	}
	return s.editFlavor(c, func(f *model.Flavor) error {
		f.ExtraSpecs = orEmpty(f.ExtraSpecs)
		maps.Copy(f.ExtraSpecs, added)
		return c.Reply(http.StatusOK, map[string]any{"extra_specs": added})
	})
}

func (s *service) updateSpec(c *api.Call) error {
	var in map[string]any
	if err := c.Decode(&in); err != nil {
		return err
	}
	if _, ok := in[c.Path("key")]; !ok || len(in) != 1 {
		return api.BadRequest("Request body and URI mismatch")
	}
	changed, err := specs(in)
	if err != nil {
		return err
	}
	return s.editFlavor(c, func(f *model.Flavor) error {
		f.ExtraSpecs = orEmpty(f.ExtraSpecs)
		maps.Copy(f.ExtraSpecs, changed)
		return c.Reply(http.StatusOK, changed)
	})
}

func (s *service) deleteSpec(c *api.Call) error {
	return s.editFlavor(c, func(f *model.Flavor) error {
		if _, ok := f.ExtraSpecs[c.Path("key")]; !ok {
			return noSpec(c)
		}
		delete(f.ExtraSpecs, c.Path("key"))
		return c.Reply(http.StatusOK, nil)
	})
}

func accessView(f model.Flavor) map[string]any {
	list := []map[string]string{}
	for _, project := range f.Projects {
		list = append(list, map[string]string{"flavor_id": f.ID, "tenant_id": project})
	}
	return map[string]any{"flavor_access": list}
}

func (s *service) showAccess(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		f, ok := s.model.Flavors.Get(r, c.Path("id"))
		if !ok {
			return api.NotFound("Flavor %s could not be found.", c.Path("id"))
		}
		if f.Public {
			return api.NotFound("Access list not available for public flavors.")
		}
		return c.Reply(http.StatusOK, accessView(f))
	})
}

func (s *service) changeAccess(c *api.Call) error {
	type tenant struct {
		Tenant string `json:"tenant"`
	}
	var in struct {
		Add    *tenant `json:"addTenantAccess"`
		Remove *tenant `json:"removeTenantAccess"`
	}
	if err := c.Decode(&in); err != nil {
		return err
	}
	return s.editFlavor(c, func(f *model.Flavor) error {
		switch {
		case in.Add != nil && f.Public:
			return api.Conflict("Can not add access to a public flavor.")
		case in.Add != nil && slices.Contains(f.Projects, in.Add.Tenant):
			return api.Conflict("Flavor access already exists for flavor %s and project %s combination.", f.ID, in.Add.Tenant)
		case in.Add != nil:
			f.Projects = append(f.Projects, in.Add.Tenant)
		case in.Remove != nil && !slices.Contains(f.Projects, in.Remove.Tenant):
			return api.NotFound("Flavor access not found for %s / %s combination.", f.ID, in.Remove.Tenant)
		case in.Remove != nil:
			f.Projects = slices.DeleteFunc(f.Projects, func(id string) bool { return id == in.Remove.Tenant })
		default:
			return api.BadRequest("There is no such action: the body holds none of addTenantAccess and removeTenantAccess")
		}
		return c.Reply(http.StatusOK, accessView(*f))
	})
}
