package image

import (
	"encoding/json"
	"mime"
	"net/http"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// operation is one step of a patch: of draft 10 in version 2.1, of draft 4 in
// version 2.0, where the operation is the key of the path.
type operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value"`

	Add     *string `json:"add"`
	Remove  *string `json:"remove"`
	Replace *string `json:"replace"`
}

func (s *service) update(c *api.Call) error {
	operations, err := decodePatch(c)
	if err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		if _, err := s.own(c, tx, "modify"); err != nil {
			return err
		}
		var changed model.Image
		s.model.Image.Images.Change(tx, c.Path("id"), func(v *model.Image) {
			edit := change{caller: c.Principal, image: v}
			for _, operation := range operations {
				if err = edit.apply(operation); err != nil {
					return
				}
			}
			err = edit.check()
			v.UpdatedAt = s.env.Timing.Now()
			changed = *v
		})
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, newView(changed).render())
	})
}

func decodePatch(c *api.Call) ([]operation, error) {
	media, _, _ := mime.ParseMediaType(c.Request.Header.Get("Content-Type"))
	old := media == "application/openstack-images-v2.0-json-patch"
	if !old && media != "application/openstack-images-v2.1-json-patch" {
		e := api.Errorf(http.StatusUnsupportedMediaType, "",
			"The request's media type %q is not one that images are updated with.", media)
		e.Header = http.Header{"Accept-Patch": {
			"application/openstack-images-v2.1-json-patch, application/openstack-images-v2.0-json-patch"}}
		return nil, e
	}
	var steps []json.RawMessage
	if err := c.Decode(&steps); err != nil || steps == nil {
		return nil, api.BadRequest("Request body must be a JSON array of operation objects.")
	}
	operations := make([]operation, len(steps))
	for i, step := range steps {
		if err := json.Unmarshal(step, &operations[i]); err != nil {
			return nil, api.BadRequest("Operations must be JSON objects.")
		}
		if err := operations[i].normalize(old); err != nil {
			return nil, err
		}
	}
	return operations, nil
}

// normalize brings an operation to the form of version 2.1 and its path to
// the name of an attribute (RFC 6901).
func (o *operation) normalize(old bool) error {
	if old {
		found := 0
		for op, path := range map[string]*string{"add": o.Add, "remove": o.Remove, "replace": o.Replace} {
			if path != nil {
				o.Op, o.Path = op, *path
				found++
			}
		}
		if found != 1 {
			return api.BadRequest(`Operation objects must contain exactly one member named "add", "remove", or "replace".`)
		}
	}
	switch {
	case o.Op == "":
		return api.BadRequest("Unable to find 'op' in JSON Schema change")
	case o.Op != "add" && o.Op != "remove" && o.Op != "replace":
		return api.BadRequest("Invalid operation: `%s`. It must be one of the following: add, remove, replace.", o.Op)
	case !strings.HasPrefix(o.Path, "/"):
		return api.BadRequest("Pointer `%s` does not start with \"/\".", o.Path)
	case o.Op != "remove" && o.Value == nil:
		return api.BadRequest("Operation \"%s\" requires a member named \"value\".", o.Op)
	}
	name := o.Path[1:]
	if name == "" || strings.Contains(name, "/") {
		if !strings.HasPrefix(name, "locations/") {
			return api.BadRequest("Invalid JSON pointer for this resource: '/%s'", name)
		}
		name = "locations"
	}
	o.Path = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
	return nil
}

func (e change) apply(o operation) error {
	if err := fixed(o.Path); err != nil {
		return err
	}
	_, has := e.image.Properties[o.Path]
	switch {
	case o.Op == "remove" && base(o.Path):
		return api.Forbidden("Property %s may not be removed.", o.Path)
	case o.Op != "add" && !base(o.Path) && !has:
		return api.Conflict("Property %s does not exist.", o.Path)
	case o.Op == "remove":
		delete(e.image.Properties, o.Path)
		return nil
	}
	return e.put(o.Path, o.Value)
}
