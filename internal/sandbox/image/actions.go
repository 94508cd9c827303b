package image

import (
	"net/http"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) actionRoutes() []api.Route {
	return []api.Route{
		{Pattern: "POST /v2/images/{id}/actions/deactivate", Role: api.Member, Handle: s.status("deactivate", model.ImageDeactivated)},
		{Pattern: "POST /v2/images/{id}/actions/reactivate", Role: api.Member, Handle: s.status("reactivate", model.ImageActive)},
		{Pattern: "PUT /v2/images/{id}/tags/{tag}", Role: api.Member, Handle: s.addTag},
		{Pattern: "DELETE /v2/images/{id}/tags/{tag}", Role: api.Member, Handle: s.removeTag},
	}
}

// status switches an image between active and deactivated.
func (s *service) status(action, to string) api.Handler {
	return func(c *api.Call) error {
		return c.Update(func(tx *store.Tx) error {
			v, err := s.own(c, tx, action)
			switch {
			case err != nil:
				return err
			case v.Status != model.ImageActive && v.Status != model.ImageDeactivated:
				return api.Forbidden("Not allowed to %s image in status '%s'", action, v.Status)
			}
			s.model.Image.Images.Change(tx, v.ID, func(v *model.Image) { v.Status, v.UpdatedAt = to, s.env.Timing.Now() })
			return c.Reply(http.StatusNoContent, nil)
		})
	}
}

func (s *service) addTag(c *api.Call) error {
	tag := c.Path("tag")
	if len(tag) > 255 {
		return mismatch("'%s' is too long: tags", tag)
	}
	return s.retag(c, func(tags []string) ([]string, error) {
		if slices.Contains(tags, tag) {
			return tags, nil
		}
		if len(tags) >= maxTags {
			return nil, exceeded("tags", maxTags+1, maxTags)
		}
		return append(tags, tag), nil
	})
}

func (s *service) removeTag(c *api.Call) error {
	return s.retag(c, func(tags []string) ([]string, error) {
		i := slices.Index(tags, c.Path("tag"))
		if i < 0 {
			return nil, api.NotFound("Could not find tag %s on image %s.", c.Path("tag"), c.Path("id"))
		}
		return slices.Delete(tags, i, i+1), nil
	})
}

func (s *service) retag(c *api.Call, edit func([]string) ([]string, error)) error {
	return c.Update(func(tx *store.Tx) error {
		v, err := s.own(c, tx, "modify")
		if err != nil {
			return err
		}
		tags, err := edit(slices.Clone(v.Tags))
		if err != nil {
			return err
		}
		s.model.Image.Images.Change(tx, v.ID, func(v *model.Image) { v.Tags, v.UpdatedAt = tags, s.env.Timing.Now() })
		return c.Reply(http.StatusNoContent, nil)
	})
}
