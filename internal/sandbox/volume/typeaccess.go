package volume

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) typeAccessRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v3/types/{type}/os-volume-type-access", Role: api.Admin, Handle: s.listAccess},
		{Pattern: "POST /v3/types/{type}/action", Role: api.Admin, Handle: s.changeAccess},
	}
}

func (s *service) listAccess(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		t, err := s.typeOf(c, r)
		if err != nil {
			return err
		}
		if t.Public {
			return api.NotFound("Access list not available for public volume types.")
		}
		access := []any{}
		for _, project := range t.Projects {
			access = append(access, map[string]string{"volume_type_id": t.ID, "project_id": project})
		}
		return c.Reply(http.StatusOK, map[string]any{"volume_type_access": access})
	})
}

func (s *service) changeAccess(c *api.Call) error {
	var body map[string]json.RawMessage
	if err := c.Decode(&body); err != nil {
		return err
	}
	name := anyKey(body)
	var in struct {
		Project string `json:"project"`
	}
	if name != "addProjectAccess" && name != "removeProjectAccess" {
		return api.BadRequest("There is no such action: %s", name)
	}
	if err := arguments(body[name], &in); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		t, err := s.typeOf(c, tx)
		if err != nil {
			return err
		}
		at := slices.Index(t.Projects, in.Project)
		switch {
		case t.Public:
			return api.Conflict("Type access modification is not applicable to public volume type.")
		case name == "addProjectAccess" && at >= 0:
			return api.Conflict("Volume type access for %s / %s combination already exists.", t.ID, in.Project)
		case name == "addProjectAccess":
			t.Projects = append(slices.Clone(t.Projects), in.Project)
		case at < 0:
			return api.NotFound("Volume type access not found for %s / %s combination.", t.ID, in.Project)
		default:
			t.Projects = slices.Delete(slices.Clone(t.Projects), at, at+1)
		}
		s.model.Types.Put(tx, t)
		return c.Reply(http.StatusAccepted, nil)
	})
}
