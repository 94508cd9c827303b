package volume

import (
	"encoding/json"
	"maps"
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) qosRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v3/qos-specs", Role: api.Admin, Handle: s.listQoS},
		{Pattern: "POST /v3/qos-specs", Role: api.Admin, Handle: s.createQoS},
		{Pattern: "GET /v3/qos-specs/{id}", Role: api.Admin, Handle: s.showQoS},
		{Pattern: "PUT /v3/qos-specs/{id}", Role: api.Admin, Handle: s.updateQoS},
		{Pattern: "DELETE /v3/qos-specs/{id}", Role: api.Admin, Handle: s.deleteQoS},
		{Pattern: "PUT /v3/qos-specs/{id}/delete_keys", Role: api.Admin, Handle: s.deleteQoSKeys},
		{Pattern: "GET /v3/qos-specs/{id}/associations", Role: api.Admin, Handle: s.associations},
		{Pattern: "GET /v3/qos-specs/{id}/associate", Role: api.Admin, Handle: s.associate(true)},
		{Pattern: "GET /v3/qos-specs/{id}/disassociate", Role: api.Admin, Handle: s.associate(false)},
		{Pattern: "GET /v3/qos-specs/{id}/disassociate_all", Role: api.Admin, Handle: s.disassociateAll},
	}
}

func (s *service) qos(c *api.Call, r store.Reader) (model.QoS, error) {
	q, ok := s.model.QoS.Get(r, c.Path("id"))
	if !ok {
		return q, api.NotFound("No such qos spec %s.", c.Path("id"))
	}
	return q, nil
}

func (s *service) listQoS(c *api.Call) error {
	list := api.List[model.QoS]{Key: "qos_specs", ID: func(q model.QoS) string { return q.ID }, MaxLimit: 1000, Links: nextLinks}
	return c.View(func(r store.Reader) error { return list.Reply(c, s.model.QoS.All(r)) })
}

func replyQoS(c *api.Call, q model.QoS) error {
	return c.Reply(http.StatusOK, map[string]any{"qos_specs": q, "links": links(c, "qos-specs", q.ID)})
}

func (s *service) showQoS(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		q, err := s.qos(c, r)
		if err != nil {
			return err
		}
		return replyQoS(c, q)
	})
}

// qosSpecs reads the specs of a body, in which the consumer is one of them.
func qosSpecs(c *api.Call) (specs map[string]string, err error) {
	var in map[string]json.RawMessage
	if err := c.DecodeIn("qos_specs", &in); err != nil {
		return nil, err
	}
	specs = map[string]string{}
	for name, raw := range in {
		var value string
		if json.Unmarshal(raw, &value) != nil {
			value = string(raw) // numbers are taken as they are written
		}
		specs[name] = value
	}
	switch consumer, ok := specs["consumer"]; {
	case !ok || consumer == "front-end" || consumer == "back-end" || consumer == "both":
	default:
		return nil, api.BadRequest("Invalid qos specs: Valid consumer of QoS specs are: ['front-end', 'back-end', 'both']")
	}
	return specs, checkMetadata(specs)
}

func (s *service) createQoS(c *api.Call) error {
	specs, err := qosSpecs(c)
	if err != nil {
		return err
	}
	q := model.QoS{ID: model.NewID(), Name: specs["name"], Consumer: "back-end", Specs: specs}
	if consumer, ok := specs["consumer"]; ok {
		q.Consumer = consumer
	}
	delete(specs, "name")
	delete(specs, "consumer")
	if q.Name == "" {
		return api.BadRequest("Invalid input for field/attribute qos_specs. 'name' is a required property")
	}
	return c.Update(func(tx *store.Tx) error {
		for other := range s.model.QoS.All(tx) {
			if other.Name == q.Name {
				return api.Conflict("QoS Specs %s already exists.", q.Name)
			}
		}
		s.model.QoS.Put(tx, q)
		return replyQoS(c, q)
	})
}

func (s *service) updateQoS(c *api.Call) error {
	specs, err := qosSpecs(c)
	if err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		q, err := s.qos(c, tx)
		if err != nil {
			return err
		}
		merged := maps.Clone(filled(q.Specs))
		maps.Copy(merged, specs)
		if consumer, ok := specs["consumer"]; ok {
			q.Consumer = consumer
			delete(merged, "consumer")
		}
		q.Specs = merged
		s.model.QoS.Put(tx, q)
		return c.Reply(http.StatusOK, map[string]any{"qos_specs": specs})
	})
}

func (s *service) typesWith(r store.Reader, qosID string) []model.VolumeType {
	var types []model.VolumeType
	for t := range s.model.Types.All(r) {
		if t.QoSID == qosID {
			types = append(types, t)
		}
	}
	return types
}

func (s *service) deleteQoS(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		q, err := s.qos(c, tx)
		if err != nil {
			return err
		}
		types := s.typesWith(tx, q.ID)
		if len(types) > 0 && !truth(c.Query("force")) {
			return api.BadRequest("QoS Specs %s is still associated with entities.", q.ID)
		}
		s.setQoS(tx, types, "")
		s.model.QoS.Delete(tx, q.ID)
		return c.Reply(http.StatusAccepted, nil)
	})
}

func (s *service) setQoS(tx *store.Tx, types []model.VolumeType, id string) {
	for _, t := range types {
		s.model.Types.Change(tx, t.ID, func(t *model.VolumeType) { t.QoSID = id })
	}
}

func (s *service) deleteQoSKeys(c *api.Call) error {
	var in struct {
		Keys []string `json:"keys"`
	}
	if err := c.Decode(&in); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		q, err := s.qos(c, tx)
		if err != nil {
			return err
		}
		specs := maps.Clone(filled(q.Specs))
		for _, key := range in.Keys {
			if _, ok := specs[key]; !ok {
				return api.NotFound("QoS spec %s has no spec with key %s.", q.ID, key)
			}
			delete(specs, key)
		}
		q.Specs = specs
		s.model.QoS.Put(tx, q)
		return c.Reply(http.StatusAccepted, nil)
	})
}

func (s *service) associations(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		q, err := s.qos(c, r)
		if err != nil {
			return err
		}
		list := []any{}
		for _, t := range s.typesWith(r, q.ID) {
			list = append(list, map[string]string{"association_type": "volume_type", "name": t.Name, "id": t.ID})
		}
		return c.Reply(http.StatusOK, map[string]any{"qos_associations": list})
	})
}

func (s *service) associate(on bool) api.Handler {
	return func(c *api.Call) error {
		return c.Update(func(tx *store.Tx) error {
			q, err := s.qos(c, tx)
			if err != nil {
				return err
			}
			t, ok := s.model.Types.Get(tx, c.Query("vol_type_id"))
			switch {
			case c.Query("vol_type_id") == "":
				return api.BadRequest("Volume Type id must not be None.")
			case !ok:
				return api.NotFound("Volume type %s could not be found.", c.Query("vol_type_id"))
			case on && t.QoSID != "" && t.QoSID != q.ID:
				return api.BadRequest("Type %s is already associated with another qos specs: %s", t.ID, t.QoSID)
			}
			id := q.ID
			if !on {
				id = ""
			}
			s.setQoS(tx, []model.VolumeType{t}, id)
			return c.Reply(http.StatusAccepted, nil)
		})
	}
}

func (s *service) disassociateAll(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		q, err := s.qos(c, tx)
		if err != nil {
			return err
		}
		s.setQoS(tx, s.typesWith(tx, q.ID), "")
		return c.Reply(http.StatusAccepted, nil)
	})
}
