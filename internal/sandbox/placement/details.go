package placement

import (
	"net/http"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) detailRoutes() []api.Route {
	const base = "/resource_providers/{id}"
	return []api.Route{
		{Pattern: "GET " + base + "/inventories", Role: api.Admin, Handle: s.listInventories},
		{Pattern: "PUT " + base + "/inventories", Role: api.Admin, Handle: s.putInventories},
		{Pattern: "DELETE " + base + "/inventories", Role: api.Admin, Handle: s.clearInventories},
		{Pattern: "GET " + base + "/inventories/{class}", Role: api.Admin, Handle: s.showInventory},
		{Pattern: "GET " + base + "/usages", Role: api.Admin, Handle: s.providerUsages},
		{Pattern: "GET " + base + "/allocations", Role: api.Admin, Handle: s.providerAllocations},
		{Pattern: "GET " + base + "/traits", Role: api.Admin, Handle: s.providerTraits},
		{Pattern: "PUT " + base + "/traits", Role: api.Admin, Handle: s.putTraits},
		{Pattern: "DELETE " + base + "/traits", Role: api.Admin, Handle: s.clearTraits},
		{Pattern: "GET " + base + "/aggregates", Role: api.Admin, Handle: s.showAggregates},
		{Pattern: "PUT " + base + "/aggregates", Role: api.Admin, Handle: s.putAggregates},
	}
}

// show answers with something of the provider in the path.
func (s *service) show(c *api.Call, render func(r store.Reader, p model.ResourceProvider) (map[string]any, error)) error {
	return c.View(func(r store.Reader) error {
		p, err := s.provider(c, r)
		if err != nil {
			return err
		}
		body, err := render(r, p)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, body)
	})
}

// put changes the provider in the path, if it has the generation that the
// caller knows; -1 is any.
func (s *service) put(c *api.Call, generation int, change func(p *model.ResourceProvider) error, render func(p model.ResourceProvider) map[string]any) error {
	return c.Update(func(tx *store.Tx) error {
		p, err := s.own(c, tx)
		if err != nil {
			return err
		}
		if generation >= 0 && generation != p.Generation {
			return api.Errorf(http.StatusConflict, "placement.concurrent_update", "Resource provider's generation already changed. Please update the generation and try again.")
		}
		if err := change(&p); err != nil {
			return err
		}
		p.Generation++
		s.model.Placement.Providers.Put(tx, p)
		if render == nil {
			return c.Reply(http.StatusNoContent, nil)
		}
		return c.Reply(http.StatusOK, render(p))
	})
}

func inventories(p model.ResourceProvider) map[string]any {
	list := p.Inventories
	if list == nil {
		list = map[string]model.Inventory{}
	}
	return map[string]any{"resource_provider_generation": p.Generation, "inventories": list}
}

func (s *service) listInventories(c *api.Call) error {
	return s.show(c, func(_ store.Reader, p model.ResourceProvider) (map[string]any, error) { return inventories(p), nil })
}

func (s *service) showInventory(c *api.Call) error {
	return s.show(c, func(_ store.Reader, p model.ResourceProvider) (map[string]any, error) {
		i, ok := p.Inventories[c.Path("class")]
		if !ok {
			return nil, api.NotFound("No inventory of class %s for %s", c.Path("class"), p.ID)
		}
		return map[string]any{"resource_provider_generation": p.Generation, "total": i.Total, "reserved": i.Reserved,
			"min_unit": i.MinUnit, "max_unit": i.MaxUnit, "step_size": i.StepSize, "allocation_ratio": i.Ratio}, nil
	})
}

// hostOwned refuses to change by hand what Nova writes of its hosts.
func (s *service) hostOwned(c *api.Call, what string) error {
	return c.View(func(r store.Reader) error {
		if s.host(r, c.Path("id")) {
			return api.Errorf(http.StatusConflict, "placement.inventory.inuse", "The %s of compute host %s is written by Nova.", what, c.Path("id"))
		}
		return nil
	})
}

func (s *service) putInventories(c *api.Call) error {
	var in struct {
		Generation  int `json:"resource_provider_generation"`
		Inventories map[string]struct {
			Total    int      `json:"total"`
			Reserved int      `json:"reserved"`
			MinUnit  int      `json:"min_unit"`
			MaxUnit  int      `json:"max_unit"`
			StepSize int      `json:"step_size"`
			Ratio    *float64 `json:"allocation_ratio"`
		} `json:"inventories"`
	}
	if err := c.Decode(&in); err != nil {
		return err
	}
	if err := s.hostOwned(c, "inventory"); err != nil {
		return err
	}
	return s.put(c, in.Generation, func(p *model.ResourceProvider) error {
		p.Inventories = map[string]model.Inventory{}
		for class, i := range in.Inventories {
			if !validClass(class) {
				return api.BadRequest("Unknown resource class in inventory for resource provider %s: No such resource class %s.", p.ID, class)
			}
			if i.Total < 1 || i.Reserved < 0 || i.Reserved > i.Total {
				return api.BadRequest("JSON does not validate: the inventory of %s is out of range", class)
			}
			full := model.Inventory{Total: i.Total, Reserved: i.Reserved, MinUnit: max(1, i.MinUnit), MaxUnit: i.MaxUnit,
				StepSize: max(1, i.StepSize), Ratio: 1}
			if full.MaxUnit == 0 {
				full.MaxUnit = 1<<31 - 1
			}
			if i.Ratio != nil {
				full.Ratio = *i.Ratio
			}
			p.Inventories[class] = full
		}
		return nil
	}, inventories)
}

func (s *service) clearInventories(c *api.Call) error {
	if err := s.hostOwned(c, "inventory"); err != nil {
		return err
	}
	return s.put(c, -1, func(p *model.ResourceProvider) error { p.Inventories = nil; return nil }, nil)
}

func (s *service) providerUsages(c *api.Call) error {
	return s.show(c, func(r store.Reader, p model.ResourceProvider) (map[string]any, error) {
		return map[string]any{"resource_provider_generation": p.Generation, "usages": s.usages(r, p)}, nil
	})
}

func (s *service) providerAllocations(c *api.Call) error {
	return s.show(c, func(r store.Reader, p model.ResourceProvider) (map[string]any, error) {
		list := map[string]any{}
		for _, v := range s.consumers(r, p.ID) {
			list[v.ID] = map[string]any{"resources": resources(v), "consumer_generation": 1}
		}
		return map[string]any{"resource_provider_generation": p.Generation, "allocations": list}, nil
	})
}

func traits(p model.ResourceProvider) map[string]any {
	return map[string]any{"resource_provider_generation": p.Generation, "traits": append([]string{}, p.Traits...)}
}

func (s *service) providerTraits(c *api.Call) error {
	return s.show(c, func(_ store.Reader, p model.ResourceProvider) (map[string]any, error) { return traits(p), nil })
}

func (s *service) putTraits(c *api.Call) error {
	var in struct {
		Generation int      `json:"resource_provider_generation"`
		Traits     []string `json:"traits"`
	}
	if err := c.Decode(&in); err != nil {
		return err
	}
	for _, name := range in.Traits {
		if name != strings.ToUpper(name) || name == "" {
			return api.BadRequest("No such trait %s", name)
		}
	}
	return s.put(c, in.Generation, func(p *model.ResourceProvider) error {
		p.Traits = slices.Compact(slices.Sorted(slices.Values(in.Traits)))
		return nil
	}, traits)
}

func (s *service) clearTraits(c *api.Call) error {
	return s.put(c, -1, func(p *model.ResourceProvider) error { p.Traits = nil; return nil }, nil)
}

func aggregates(c *api.Call, p model.ResourceProvider) map[string]any {
	body := map[string]any{"aggregates": append([]string{}, p.Aggregates...)}
	if c.Version.AtLeast(1, 19) {
		body["resource_provider_generation"] = p.Generation
	}
	return body
}

func (s *service) showAggregates(c *api.Call) error {
	return s.show(c, func(_ store.Reader, p model.ResourceProvider) (map[string]any, error) { return aggregates(c, p), nil })
}

func (s *service) putAggregates(c *api.Call) error {
	var list []string
	generation := -1
	if c.Version.AtLeast(1, 19) {
		var in struct {
			Generation int      `json:"resource_provider_generation"`
			Aggregates []string `json:"aggregates"`
		}
		if err := c.Decode(&in); err != nil {
			return err
		}
		list, generation = in.Aggregates, in.Generation
	} else if err := c.Decode(&list); err != nil {
		return err
	}
	return s.put(c, generation, func(p *model.ResourceProvider) error { p.Aggregates = list; return nil },
		func(p model.ResourceProvider) map[string]any { return aggregates(c, p) })
}
