package image

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) imageRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v2/images", Role: api.Reader, Handle: s.list},
		{Pattern: "POST /v2/images", Role: api.Member, Handle: s.create},
		{Pattern: "GET /v2/images/{id}", Role: api.Reader, Handle: s.show},
		{Pattern: "PATCH /v2/images/{id}", Role: api.Member, Handle: s.update},
		{Pattern: "DELETE /v2/images/{id}", Role: api.Member, Handle: s.delete},
	}
}

func (s *service) show(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		v, err := Get(r, s.model, c.Principal, c.Path("id"))
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, newView(v).render())
	})
}

func (s *service) create(c *api.Call) error {
	var in map[string]json.RawMessage
	if err := c.Decode(&in); err != nil {
		return err
	}
	v := model.Image{ID: model.NewID(), Visibility: "shared", ProjectID: c.Principal.ProjectID}
	edit := change{caller: c.Principal, image: &v, creating: true}
	for name, value := range in {
		if err := edit.put(name, value); err != nil {
			return err
		}
	}
	if err := edit.check(); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		if _, taken := s.model.Image.Images.Get(tx, v.ID); taken {
			return api.Conflict("Image ID %s already exists!", v.ID)
		}
		count := s.model.Image.ImagesOf.Count(tx, v.ProjectID)
		if err := s.within(tx, v.ProjectID, "image_count_total", count, 1); err != nil {
			return err
		}
		v = Create(tx, s.env, v)
		c.Writer.Header().Set("Location", c.URL("/v2/images/"+v.ID))
		c.Writer.Header().Set("OpenStack-image-import-methods", strings.Join(importMethods(), ","))
		c.Writer.Header().Set("OpenStack-image-store-ids", storeID)
		return c.Reply(http.StatusCreated, newView(v).render())
	})
}

// within refuses more than the quota of the project, in the words of Keystone's unified limits,
// which Glance passes on.
func (s *service) within(r store.Reader, project, resource string, used, more int) error {
	limit, over := s.limits().Exceeded(r, project, resource, used, more)
	if !over {
		return nil
	}
	return api.Errorf(http.StatusRequestEntityTooLarge, "",
		"Project %s is over a limit for [Resource %s is over limit of %d due to current usage %d and delta %d]",
		project, resource, limit, used, more)
}

func (s *service) delete(c *api.Call) error {
	id := c.Path("id")
	err := c.Update(func(tx *store.Tx) error {
		v, err := s.own(c, tx, "delete")
		switch {
		case err != nil:
			return err
		case v.Protected:
			return api.Forbidden("Image %s is protected and cannot be deleted.", v.ID)
		case s.model.Image.HoldsOf.Count(tx, v.ID) > 0:
			return api.Conflict("Image %s could not be deleted because it is in use: The image cannot be deleted "+
				"because it is in use through the backend store outside of Glance.", v.ID)
		}
		for member := range s.model.Image.MembersOf.Each(tx, v.ID) {
			s.model.Image.Members.Delete(tx, model.ImageMemberID(member.ImageID, member.MemberID))
		}
		s.model.Image.Images.Delete(tx, v.ID)
		return nil
	})
	if err != nil {
		return err
	}
	if _, err := uuid.Parse(id); err == nil { // never build a path of what a client chose freely
		s.discard(id)
	}
	return c.Reply(http.StatusNoContent, nil)
}
