package compute

import (
	"maps"
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) metadataRoutes() []api.Route {
	const all, one = "/v2.1/servers/{id}/metadata", "/v2.1/servers/{id}/metadata/{key}"
	return []api.Route{
		{Pattern: "GET " + all, Role: api.Reader, Handle: s.listMetadata},
		{Pattern: "POST " + all, Role: api.Member, Handle: func(c *api.Call) error { return s.putMetadata(c, false) }},
		{Pattern: "PUT " + all, Role: api.Member, Handle: func(c *api.Call) error { return s.putMetadata(c, true) }},
		{Pattern: "GET " + one, Role: api.Reader, Handle: s.showMetadatum},
		{Pattern: "PUT " + one, Role: api.Member, Handle: s.putMetadatum},
		{Pattern: "DELETE " + one, Role: api.Member, Handle: s.deleteMetadatum},
	}
}

func (s *service) listMetadata(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		v, err := s.find(c, r)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"metadata": orEmpty(v.Metadata)})
	})
}

func (s *service) showMetadatum(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		v, err := s.find(c, r)
		if err != nil {
			return err
		}
		key := c.Path("key")
		value, ok := v.Metadata[key]
		if !ok {
			return api.NotFound("Metadata item was not found")
		}
		return c.Reply(http.StatusOK, map[string]any{"meta": map[string]string{key: value}})
	})
}

// editMetadata changes the metadata of the server in the path, within the quota, and answers with
// what reply returns for it.
func (s *service) editMetadata(c *api.Call, status int, change func(m map[string]string) error, reply func(m map[string]string) any) error {
	return c.Update(func(tx *store.Tx) error {
		v, err := s.find(c, tx)
		if err != nil {
			return err
		}
		if err := unlocked(c, v); err != nil {
			return err
		}
		s.model.Servers.Change(tx, v.ID, func(n *model.Server) {
			n.Metadata = orEmpty(n.Metadata)
			err = change(n.Metadata)
			n.UpdatedAt = s.env.Timing.Now()
			v = *n
		})
		if err != nil {
			return err
		}
		if limit := s.quota.Limits(tx, v.ProjectID)["metadata_items"]; limit >= 0 && len(v.Metadata) > limit {
			return api.Forbidden("Maximum number of metadata items exceeds %d", limit)
		}
		return c.Reply(status, reply(v.Metadata))
	})
}

func (s *service) putMetadata(c *api.Call, replace bool) error {
	var in map[string]string
	if err := c.DecodeIn("metadata", &in); err != nil {
		return err
	}
	if err := checkMetadata(in); err != nil {
		return err
	}
	return s.editMetadata(c, http.StatusOK, func(m map[string]string) error {
		if replace {
			clear(m)
		}
		maps.Copy(m, in)
		return nil
	}, func(m map[string]string) any { return map[string]any{"metadata": m} })
}

func (s *service) putMetadatum(c *api.Call) error {
	var in map[string]string
	if err := c.DecodeIn("meta", &in); err != nil {
		return err
	}
	if _, ok := in[c.Path("key")]; !ok || len(in) != 1 {
		return api.BadRequest("Request body and URI mismatch")
	}
	if err := checkMetadata(in); err != nil {
		return err
	}
	return s.editMetadata(c, http.StatusOK, func(m map[string]string) error {
		maps.Copy(m, in)
		return nil
	}, func(map[string]string) any { return map[string]any{"meta": in} })
}

func (s *service) deleteMetadatum(c *api.Call) error {
	return s.editMetadata(c, http.StatusNoContent, func(m map[string]string) error {
		if _, ok := m[c.Path("key")]; !ok {
			return api.NotFound("Metadata item was not found")
		}
		delete(m, c.Path("key"))
		return nil
	}, func(map[string]string) any { return nil })
}
