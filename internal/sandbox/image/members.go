package image

import (
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

const maxMembers = 128

func (s *service) memberRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v2/images/{id}/members", Role: api.Reader, Handle: s.listMembers},
		{Pattern: "POST /v2/images/{id}/members", Role: api.Member, Handle: s.addMember},
		{Pattern: "GET /v2/images/{id}/members/{member}", Role: api.Reader, Handle: s.showMember},
		{Pattern: "PUT /v2/images/{id}/members/{member}", Role: api.Member, Handle: s.updateMember},
		{Pattern: "DELETE /v2/images/{id}/members/{member}", Role: api.Member, Handle: s.removeMember},
	}
}

func memberView(m model.ImageMember) map[string]any {
	return map[string]any{"image_id": m.ImageID, "member_id": m.MemberID, "status": m.Status,
		"created_at": stamp(m.CreatedAt), "updated_at": stamp(m.UpdatedAt), "schema": "/v2/schemas/member"}
}

// shared returns the image in the path if it can have members.
func (s *service) shared(c *api.Call, r store.Reader) (model.Image, error) {
	v, err := Get(r, s.model, c.Principal, c.Path("id"))
	if err == nil && v.Visibility != "shared" {
		err = api.Forbidden("Only shared images have members.")
	}
	return v, err
}

// member returns the member in the path, which its own project and the owner
// of the image see.
func (s *service) member(c *api.Call, r store.Reader) (model.Image, model.ImageMember, error) {
	v, err := s.shared(c, r)
	if err != nil {
		return v, model.ImageMember{}, err
	}
	m, ok := s.model.Image.Members.Get(r, model.ImageMemberID(v.ID, c.Path("member")))
	if !ok || !c.Principal.Owns(v.ProjectID) && !c.Principal.Owns(m.MemberID) {
		return v, m, api.NotFound("No member found with ID %s for image %s", c.Path("member"), v.ID)
	}
	return v, m, nil
}

func (s *service) listMembers(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		v, err := s.shared(c, r)
		if err != nil {
			return err
		}
		members := []any{}
		for m := range s.model.Image.MembersOf.Each(r, v.ID) {
			if c.Principal.Owns(v.ProjectID) || c.Principal.Owns(m.MemberID) {
				members = append(members, memberView(m))
			}
		}
		return c.Reply(http.StatusOK, map[string]any{"members": members, "schema": "/v2/schemas/members"})
	})
}

func (s *service) showMember(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		_, m, err := s.member(c, r)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, memberView(m))
	})
}

func (s *service) addMember(c *api.Call) error {
	var in struct {
		Member string `json:"member"`
	}
	if err := c.Decode(&in); err != nil {
		return err
	}
	if in.Member == "" || len(in.Member) > 255 {
		return api.BadRequest("Member can't be empty")
	}
	return c.Update(func(tx *store.Tx) error {
		v, err := s.shared(c, tx)
		switch {
		case err != nil:
			return err
		case !c.Principal.Owns(v.ProjectID):
			return api.Forbidden("You are not permitted to create image members for the image.")
		case s.model.Image.MembersOf.Count(tx, v.ID) >= maxMembers:
			return exceeded("members", maxMembers+1, maxMembers)
		}
		if _, taken := s.model.Image.Members.Get(tx, model.ImageMemberID(v.ID, in.Member)); taken {
			return api.Conflict("Image member %s already associated with image %s.", in.Member, v.ID)
		}
		now := s.env.Timing.Now()
		m := model.ImageMember{ImageID: v.ID, MemberID: in.Member, Status: "pending", CreatedAt: now, UpdatedAt: now}
		s.model.Image.Members.Put(tx, m)
		return c.Reply(http.StatusOK, memberView(m))
	})
}

// updateMember is the member's answer to the offer; the owner has no say.
func (s *service) updateMember(c *api.Call) error {
	var in struct {
		Status string `json:"status"`
	}
	if err := c.Decode(&in); err != nil {
		return err
	}
	switch in.Status {
	case "pending", "accepted", "rejected":
	default:
		return api.BadRequest("Invalid status: %s", in.Status)
	}
	return c.Update(func(tx *store.Tx) error {
		_, m, err := s.member(c, tx)
		if err != nil {
			return err
		}
		if !c.Principal.Owns(m.MemberID) {
			return api.Forbidden("You are not permitted to modify this image member.")
		}
		m.Status, m.UpdatedAt = in.Status, s.env.Timing.Now()
		s.model.Image.Members.Put(tx, m)
		return c.Reply(http.StatusOK, memberView(m))
	})
}

func (s *service) removeMember(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		v, m, err := s.member(c, tx)
		if err != nil {
			return err
		}
		if !c.Principal.Owns(v.ProjectID) {
			return api.Forbidden("You cannot delete image members of this image.")
		}
		s.model.Image.Members.Delete(tx, model.ImageMemberID(m.ImageID, m.MemberID))
		return c.Reply(http.StatusNoContent, nil)
	})
}
