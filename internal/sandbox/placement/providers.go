package placement

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) providerRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /resource_providers", Role: api.Admin, Handle: s.listProviders},
		{Pattern: "POST /resource_providers", Role: api.Admin, Handle: s.createProvider},
		{Pattern: "GET /resource_providers/{id}", Role: api.Admin, Handle: s.showProvider},
		{Pattern: "PUT /resource_providers/{id}", Role: api.Admin, Handle: s.updateProvider},
		{Pattern: "DELETE /resource_providers/{id}", Role: api.Admin, Handle: s.deleteProvider},
	}
}

func (s *service) provider(c *api.Call, r store.Reader) (model.ResourceProvider, error) {
	for _, p := range s.providers(r) {
		if p.ID == c.Path("id") {
			return p, nil
		}
	}
	return model.ResourceProvider{}, api.NotFound("No resource provider with uuid %s found", c.Path("id"))
}

func providerView(c *api.Call, p model.ResourceProvider) map[string]any {
	path := c.Service.Prefix + "/resource_providers/" + p.ID
	links := []api.Link{{Rel: "self", Href: path}, {Rel: "inventories", Href: path + "/inventories"}, {Rel: "usages", Href: path + "/usages"}}
	for word, minor := range map[string]int{"aggregates": 1, "traits": 6, "allocations": 11} {
		if c.Version.AtLeast(1, minor) {
			links = append(links, api.Link{Rel: word, Href: path + "/" + word})
		}
	}
	v := map[string]any{"uuid": p.ID, "name": p.Name, "generation": p.Generation, "links": links}
	if c.Version.AtLeast(1, 14) {
		v["root_provider_uuid"], v["parent_provider_uuid"] = p.RootID, orNull(p.ParentID)
	}
	return v
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func (s *service) listProviders(c *api.Call) error {
	wanted, err := amounts(c.Query("resources"))
	if err != nil {
		return err
	}
	return c.View(func(r store.Reader) error {
		root := ""
		all := s.providers(r)
		for _, p := range all {
			if p.ID == c.Query("in_tree") {
				root = p.RootID
			}
		}
		list := []any{}
		for _, p := range all {
			if name := c.Query("name"); name != "" && name != p.Name {
				continue
			}
			if id := c.Query("uuid"); id != "" && id != p.ID {
				continue
			}
			if c.Query("in_tree") != "" && p.RootID != root || !member(c.Query("member_of"), p) || !s.has(r, p, wanted) {
				continue
			}
			list = append(list, providerView(c, p))
		}
		return c.Reply(http.StatusOK, map[string]any{"resource_providers": list})
	})
}

// member reports whether a provider is in an aggregate of the query: a UUID,
// or in: with several.
func member(query string, p model.ResourceProvider) bool {
	if query == "" {
		return true
	}
	return slices.ContainsFunc(strings.Split(strings.TrimPrefix(query, "in:"), ","), func(id string) bool {
		return slices.Contains(p.Aggregates, id)
	})
}

// amounts reads resources=VCPU:2,MEMORY_MB:512.
func amounts(text string) (map[string]int, error) {
	wanted := map[string]int{}
	if text == "" {
		return wanted, nil
	}
	for _, part := range strings.Split(text, ",") {
		class, number, _ := strings.Cut(part, ":")
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return nil, api.BadRequest("Badly formed resources parameter. Expected resources query string parameter in form: ?resources=VCPU:2,MEMORY_MB:1024. Got: %s.", text)
		}
		wanted[class] = n
	}
	return wanted, nil
}

// has reports whether a provider has so much left.
func (s *service) has(r store.Reader, p model.ResourceProvider, wanted map[string]int) bool {
	if len(wanted) == 0 {
		return true
	}
	used := s.usages(r, p)
	for class, n := range wanted {
		i, ok := p.Inventories[class]
		if !ok || n > i.MaxUnit || float64(used[class]+n) > float64(i.Total-i.Reserved)*i.Ratio {
			return false
		}
	}
	return true
}

func (s *service) showProvider(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		p, err := s.provider(c, r)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, providerView(c, p))
	})
}

type providerInput struct {
	ID     string               `json:"uuid"`
	Name   string               `json:"name"`
	Parent api.Optional[string] `json:"parent_provider_uuid"`
}

func (s *service) createProvider(c *api.Call) error {
	var in providerInput
	if err := c.Decode(&in); err != nil {
		return err
	}
	if in.Name == "" || len(in.Name) > 200 {
		return api.BadRequest("JSON does not validate: 'name' is a required property")
	}
	if in.ID == "" {
		in.ID = model.NewID()
	} else if _, err := uuid.Parse(in.ID); err != nil {
		return api.BadRequest("JSON does not validate: '%s' is not a 'uuid'", in.ID)
	}
	p := model.ResourceProvider{ID: in.ID, Name: in.Name, ParentID: in.Parent.Or(""), RootID: in.ID, Inventories: map[string]model.Inventory{}}
	return c.Update(func(tx *store.Tx) error {
		if err := s.placeProvider(tx, &p); err != nil {
			return err
		}
		s.model.Placement.Providers.Put(tx, p)
		c.Writer.Header().Set("Location", c.URL("/resource_providers/"+p.ID))
		if !c.Version.AtLeast(1, 20) {
			return c.Reply(http.StatusCreated, nil)
		}
		return c.Reply(http.StatusOK, providerView(c, p))
	})
}

// placeProvider checks name, id and parent, and finds the root.
func (s *service) placeProvider(r store.Reader, p *model.ResourceProvider) error {
	found := p.ParentID == ""
	for _, other := range s.providers(r) {
		switch {
		case other.ID == p.ID || other.Name == p.Name:
			return api.Errorf(http.StatusConflict, "placement.duplicate_name", "Conflicting resource provider name: %s already exists.", p.Name)
		case other.ID == p.ParentID:
			p.RootID, found = other.RootID, true
		}
	}
	if !found {
		return api.BadRequest("Unable to create resource provider \"%s\", %s: Parent provider UUID %s does not exist.", p.Name, p.ID, p.ParentID)
	}
	return nil
}

// own returns the record of a provider that can be changed by hand: Nova
// writes those of its hosts.
func (s *service) own(c *api.Call, r store.Reader) (model.ResourceProvider, error) {
	p, err := s.provider(c, r)
	if err != nil {
		return p, err
	}
	if stored, ok := s.model.Placement.Providers.Get(r, p.ID); ok {
		stored.Name = p.Name
		return stored, nil
	}
	p.Inventories, p.Traits = nil, nil
	return p, nil
}

func (s *service) host(r store.Reader, id string) bool {
	for h := range s.model.Compute.Hosts.All(r) {
		if h.ID == id {
			return true
		}
	}
	return false
}

func (s *service) updateProvider(c *api.Call) error {
	var in providerInput
	if err := c.Decode(&in); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		p, err := s.own(c, tx)
		if err != nil {
			return err
		}
		if in.Name == "" || s.host(tx, p.ID) && in.Name != p.Name {
			return api.BadRequest("JSON does not validate: the name of %s cannot become '%s'", p.ID, in.Name)
		}
		for _, other := range s.providers(tx) {
			if other.ID != p.ID && other.Name == in.Name {
				return api.Errorf(http.StatusConflict, "placement.duplicate_name", "Conflicting resource provider name: %s already exists.", in.Name)
			}
		}
		p.Name = in.Name
		s.model.Placement.Providers.Put(tx, p)
		return c.Reply(http.StatusOK, providerView(c, p))
	})
}

func (s *service) deleteProvider(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		p, err := s.provider(c, tx)
		if err != nil {
			return err
		}
		for _, other := range s.providers(tx) {
			if other.ParentID == p.ID {
				return api.Errorf(http.StatusConflict, "placement.resource_provider.cannot_delete_parent",
					"Unable to delete parent resource provider %s: It has child resource providers.", p.ID)
			}
		}
		if s.host(tx, p.ID) {
			return api.Errorf(http.StatusConflict, "placement.resource_provider.inuse", "Unable to delete resource provider %s: Resource provider has allocations.", p.ID)
		}
		s.model.Placement.Providers.Delete(tx, p.ID)
		return c.Reply(http.StatusNoContent, nil)
	})
}
