package volume

import (
	"maps"
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// metadata serves the metadata of one kind of resource.
type metadata struct {
	path string
	// get returns the metadata of the resource in the path, put replaces it.
	get func(c *api.Call, r store.Reader) (map[string]string, error)
	put func(c *api.Call, tx *store.Tx, values map[string]string)
}

func (s *service) metadataRoutes() []api.Route {
	volumes := metadata{path: "/v3/volumes/{id}/metadata",
		get: func(c *api.Call, r store.Reader) (map[string]string, error) {
			v, err := s.volume(c, r)
			return v.Metadata, err
		},
		put: func(c *api.Call, tx *store.Tx, values map[string]string) {
			s.model.Volumes.Change(tx, c.Path("id"), func(v *model.Volume) { v.Metadata = values })
		}}
	snapshots := metadata{path: "/v3/snapshots/{id}/metadata",
		get: func(c *api.Call, r store.Reader) (map[string]string, error) {
			v, err := s.snapshot(c, r)
			return v.Metadata, err
		},
		put: func(c *api.Call, tx *store.Tx, values map[string]string) {
			s.model.Snapshots.Change(tx, c.Path("id"), func(v *model.Snapshot) { v.Metadata = values })
		}}
	return append(volumes.routes(), snapshots.routes()...)
}

func (m metadata) routes() []api.Route {
	return []api.Route{
		{Pattern: "GET " + m.path, Role: api.Reader, Handle: m.list},
		{Pattern: "POST " + m.path, Role: api.Member, Handle: m.write(true)},
		{Pattern: "PUT " + m.path, Role: api.Member, Handle: m.write(false)},
		{Pattern: "GET " + m.path + "/{key}", Role: api.Reader, Handle: m.one},
		{Pattern: "PUT " + m.path + "/{key}", Role: api.Member, Handle: m.writeOne},
		{Pattern: "DELETE " + m.path + "/{key}", Role: api.Member, Handle: m.remove},
	}
}

func (m metadata) list(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		values, err := m.get(c, r)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"metadata": filled(values)})
	})
}

func filled(values map[string]string) map[string]string {
	if values == nil {
		return map[string]string{}
	}
	return values
}

func noMetadata() error { return api.NotFound("Metadata item was not found") }

func (m metadata) one(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		values, err := m.get(c, r)
		if err != nil {
			return err
		}
		value, ok := values[c.Path("key")]
		if !ok {
			return noMetadata()
		}
		return c.Reply(http.StatusOK, map[string]any{"meta": map[string]string{c.Path("key"): value}})
	})
}

// change merges values into the metadata, or replaces it.
func (m metadata) change(c *api.Call, tx *store.Tx, values map[string]string, merge bool) (map[string]string, error) {
	if err := checkMetadata(values); err != nil {
		return nil, err
	}
	old, err := m.get(c, tx)
	if err != nil {
		return nil, err
	}
	changed := map[string]string{}
	if merge {
		maps.Copy(changed, old)
	}
	maps.Copy(changed, values)
	m.put(c, tx, changed)
	return changed, nil
}

func (m metadata) write(merge bool) api.Handler {
	return func(c *api.Call) error {
		var in map[string]string
		if err := c.DecodeIn("metadata", &in); err != nil {
			return err
		}
		return c.Update(func(tx *store.Tx) error {
			changed, err := m.change(c, tx, in, merge)
			if err != nil {
				return err
			}
			return c.Reply(http.StatusOK, map[string]any{"metadata": changed})
		})
	}
}

func (m metadata) writeOne(c *api.Call) error {
	var in map[string]string
	if err := c.DecodeIn("meta", &in); err != nil {
		return err
	}
	if _, ok := in[c.Path("key")]; !ok || len(in) != 1 {
		return api.BadRequest("Request body and URI mismatch")
	}
	return c.Update(func(tx *store.Tx) error {
		if _, err := m.change(c, tx, in, true); err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"meta": in})
	})
}

func (m metadata) remove(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		values, err := m.get(c, tx)
		if err != nil {
			return err
		}
		if _, ok := values[c.Path("key")]; !ok {
			return noMetadata()
		}
		left := maps.Clone(values)
		delete(left, c.Path("key"))
		m.put(c, tx, left)
		return c.Reply(http.StatusOK, nil)
	})
}

func checkMetadata(values map[string]string) error {
	for name, value := range values {
		switch {
		case name == "":
			return api.BadRequest("Invalid input for field/attribute metadata. Value: %v. '' does not match any of the regexes", values)
		case len(name) > 255 || len(value) > 255:
			return tooLong("metadata", name)
		}
	}
	return nil
}
