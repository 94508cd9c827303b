package volume

import (
	"maps"
	"net/http"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) typeRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v3/types", Role: api.Reader, Handle: s.listTypes},
		{Pattern: "POST /v3/types", Role: api.Admin, Handle: s.createType},
		{Pattern: "GET /v3/types/{type}", Role: api.Reader, Handle: s.showType},
		{Pattern: "PUT /v3/types/{type}", Role: api.Admin, Handle: s.updateType},
		{Pattern: "DELETE /v3/types/{type}", Role: api.Admin, Handle: s.deleteType},
		{Pattern: "GET /v3/types/{type}/extra_specs", Role: api.Reader, Handle: s.listSpecs},
		{Pattern: "POST /v3/types/{type}/extra_specs", Role: api.Admin, Handle: s.putSpecs},
		{Pattern: "GET /v3/types/{type}/extra_specs/{key}", Role: api.Reader, Handle: s.showSpec},
		{Pattern: "PUT /v3/types/{type}/extra_specs/{key}", Role: api.Admin, Handle: s.putSpec},
		{Pattern: "DELETE /v3/types/{type}/extra_specs/{key}", Role: api.Admin, Handle: s.deleteSpec},
	}
}

func noType(id string) error {
	return api.NotFound("Volume type with name %s could not be found.", id)
}

// usable reports whether the caller may use a type.
func usable(p *api.Principal, t model.VolumeType) bool {
	return t.Public || p.Admin() || slices.Contains(t.Projects, p.ProjectID)
}

// findType finds a type by name or id.
func findType(r store.Reader, types *store.Table[model.VolumeType], p *api.Principal, nameOrID string) (model.VolumeType, bool) {
	for t := range types.All(r) {
		if (t.ID == nameOrID || t.Name == nameOrID) && usable(p, t) {
			return t, true
		}
	}
	return model.VolumeType{}, false
}

// typeAnswer is a type as clients see it.
type typeAnswer struct {
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	Description *string           `json:"description"`
	Public      bool              `json:"is_public"`
	Access      bool              `json:"os-volume-type-access:is_public"`
	QoSID       *string           `json:"qos_specs_id"`
	ExtraSpecs  map[string]string `json:"extra_specs"`
}

// typeView shows others than administrators only the extra specs that are
// about what a volume can do.
func typeView(t model.VolumeType, c *api.Call) typeAnswer {
	specs := map[string]string{}
	for name, value := range t.ExtraSpecs {
		if c.Principal.Admin() || slices.Contains([]string{"multiattach", "RESKEY:availability_zones", "replication_enabled"}, name) {
			specs[name] = value
		}
	}
	return typeAnswer{ID: t.ID, Name: t.Name, Description: orNull(t.Description), Public: t.Public, Access: t.Public,
		QoSID: orNull(t.QoSID), ExtraSpecs: specs}
}

// typeOf returns the type in the path; "default" is the one that volumes get.
func (s *service) typeOf(c *api.Call, r store.Reader) (model.VolumeType, error) {
	id := c.Path("type")
	if id == "default" {
		if t, ok := findType(r, s.model.Types, c.Principal, defaultType); ok {
			return t, nil
		}
	}
	t, ok := s.model.Types.Get(r, id)
	if !ok || !usable(c.Principal, t) {
		return t, api.NotFound("Volume type %s could not be found.", id)
	}
	return t, nil
}

func (s *service) listTypes(c *api.Call) error {
	list := api.List[typeAnswer]{Key: "volume_types", ID: func(t typeAnswer) string { return t.ID }, MaxLimit: 1000,
		Links: func(c *api.Call, p api.Page, _ string, body map[string]any) { nextLinks(c, p, "volume_type", body) },
		Filters: map[string]api.Filter[typeAnswer]{
			"is_public": func(t typeAnswer, words []string) bool {
				return words[0] == "None" || words[0] == "none" || !c.Principal.Admin() || truth(words[0]) == t.Public
			},
			"extra_specs": func(t typeAnswer, words []string) bool { return within(dictionary(words[0]), t.ExtraSpecs) },
		}}
	return c.View(func(r store.Reader) error {
		return list.Reply(c, func(yield func(typeAnswer) bool) {
			for t := range s.model.Types.All(r) {
				if usable(c.Principal, t) && !yield(typeView(t, c)) {
					return
				}
			}
		})
	})
}

func (s *service) showType(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		t, err := s.typeOf(c, r)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"volume_type": typeView(t, c)})
	})
}

type typeInput struct {
	Name        api.Optional[string] `json:"name"`
	Description api.Optional[string] `json:"description"`
	Public      api.Optional[bool]   `json:"is_public"`
	Access      api.Optional[bool]   `json:"os-volume-type-access:is_public"`
	ExtraSpecs  map[string]string    `json:"extra_specs"`
}

// checkType refuses a name that is empty, too long or taken.
func (s *service) checkType(r store.Reader, t model.VolumeType) error {
	if t.Name == "" || len(t.Name) > 255 {
		return api.BadRequest("Invalid input for field/attribute name. Value: %s. Volume type name can not be empty.", t.Name)
	}
	for other := range s.model.Types.All(r) {
		if other.Name == t.Name && other.ID != t.ID {
			return api.Conflict("Volume Type %s already exists.", t.Name)
		}
	}
	return checkMetadata(t.ExtraSpecs)
}

func (s *service) createType(c *api.Call) error {
	var in typeInput
	if err := c.DecodeIn("volume_type", &in); err != nil {
		return err
	}
	t := model.VolumeType{ID: model.NewID(), Name: in.Name.Value, Description: in.Description.Value,
		Public: in.Access.Or(in.Public.Or(true)), ExtraSpecs: filled(in.ExtraSpecs)}
	return c.Update(func(tx *store.Tx) error {
		if err := s.checkType(tx, t); err != nil {
			return err
		}
		s.model.Types.Put(tx, t)
		return c.Reply(http.StatusOK, map[string]any{"volume_type": typeView(t, c)})
	})
}

func (s *service) updateType(c *api.Call) error {
	var in typeInput
	if err := c.DecodeIn("volume_type", &in); err != nil {
		return err
	}
	if !in.Name.Set && !in.Description.Set && !in.Public.Set {
		return api.BadRequest("Specify volume type name, description, is_public or a combination thereof.")
	}
	return c.Update(func(tx *store.Tx) error {
		t, err := s.typeOf(c, tx)
		if err != nil {
			return err
		}
		in.Name.Apply(&t.Name)
		in.Description.Apply(&t.Description)
		in.Public.Apply(&t.Public)
		if err := s.checkType(tx, t); err != nil {
			return err
		}
		s.model.Types.Put(tx, t)
		return c.Reply(http.StatusOK, map[string]any{"volume_type": typeView(t, c)})
	})
}

func (s *service) deleteType(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		t, err := s.typeOf(c, tx)
		if err != nil {
			return err
		}
		if t.Name == defaultType {
			return api.BadRequest("Volume type %s is the default volume type and cannot be deleted.", t.ID)
		}
		for v := range s.model.Volumes.All(tx) {
			if v.TypeID == t.ID {
				return api.BadRequest("Target volume type is still in use.")
			}
		}
		s.model.Types.Delete(tx, t.ID)
		return c.Reply(http.StatusAccepted, nil)
	})
}

func noSpec(c *api.Call) error {
	return api.NotFound("Volume Type %s has no extra specs with key %s.", c.Path("type"), c.Path("key"))
}

func (s *service) listSpecs(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		t, err := s.typeOf(c, r)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"extra_specs": typeView(t, c).ExtraSpecs})
	})
}

func (s *service) showSpec(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		t, err := s.typeOf(c, r)
		if err != nil {
			return err
		}
		value, ok := typeView(t, c).ExtraSpecs[c.Path("key")]
		if !ok {
			return noSpec(c)
		}
		return c.Reply(http.StatusOK, map[string]string{c.Path("key"): value})
	})
}

// specs changes the extra specs of the type in the path.
func (s *service) specs(c *api.Call, tx *store.Tx, edit func(map[string]string) error) error {
	t, err := s.typeOf(c, tx)
	if err != nil {
		return err
	}
	specs := maps.Clone(filled(t.ExtraSpecs))
	if err := edit(specs); err != nil {
		return err
	}
	t.ExtraSpecs = specs
	s.model.Types.Put(tx, t)
	return nil
}

func (s *service) putSpecs(c *api.Call) error {
	var in map[string]string
	if err := c.DecodeIn("extra_specs", &in); err != nil {
		return err
	}
	if err := checkMetadata(in); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		err := s.specs(c, tx, func(specs map[string]string) error { maps.Copy(specs, in); return nil })
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"extra_specs": in})
	})
}

func (s *service) putSpec(c *api.Call) error {
	var in map[string]string
	if err := c.Decode(&in); err != nil {
		return err
	}
	if _, ok := in[c.Path("key")]; !ok || len(in) != 1 {
		return api.BadRequest("Request body and URI mismatch")
	}
	return c.Update(func(tx *store.Tx) error {
		err := s.specs(c, tx, func(specs map[string]string) error { maps.Copy(specs, in); return nil })
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, in)
	})
}

func (s *service) deleteSpec(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		err := s.specs(c, tx, func(specs map[string]string) error {
			if _, ok := specs[c.Path("key")]; !ok {
				return noSpec(c)
			}
			delete(specs, c.Path("key"))
			return nil
		})
		if err != nil {
			return err
		}
		return c.Reply(http.StatusAccepted, nil)
	})
}
