package volume

import (
	"iter"
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) attachmentRoutes() []api.Route {
	routes := []api.Route{
		{Pattern: "GET /v3/attachments", Role: api.Reader, Handle: s.listAttachments(false)},
		{Pattern: "GET /v3/attachments/detail", Role: api.Reader, Handle: s.listAttachments(true)},
		{Pattern: "POST /v3/attachments", Role: api.Member, Handle: s.createAttachment},
		{Pattern: "GET /v3/attachments/{id}", Role: api.Reader, Handle: s.showAttachment},
		{Pattern: "PUT /v3/attachments/{id}", Role: api.Member, Handle: s.updateAttachment},
		{Pattern: "DELETE /v3/attachments/{id}", Role: api.Member, Handle: s.deleteAttachment},
	}
	for i := range routes {
		routes[i].Handle = since(27, routes[i].Handle)
	}
	return append(routes, api.Route{Pattern: "POST /v3/attachments/{id}/action", Role: api.Member, Handle: since(44, s.completeAttachment)})
}

// attachmentView is an attachment as clients see it; the list without detail
// has the first four attributes.
type attachmentView struct {
	ID         string         `json:"id"`
	VolumeID   string         `json:"volume_id"`
	ServerID   *string        `json:"instance"`
	Status     string         `json:"status"`
	Mode       *string        `json:"attach_mode"`
	AttachedAt string         `json:"attached_at"`
	DetachedAt string         `json:"detached_at"`
	Connection map[string]any `json:"connection_info"`
}

func (s *service) attachmentView(r store.Reader, a model.Attachment) attachmentView {
	v := attachmentView{ID: a.ID, VolumeID: a.VolumeID, ServerID: orNull(a.ServerID), Status: a.Status,
		Mode: orNull(a.Mode), Connection: map[string]any{}}
	if a.AttachedAt != nil {
		v.AttachedAt = stamp(*a.AttachedAt)
	}
	if len(a.Connector) > 0 {
		volume, _ := s.model.Volumes.Get(r, a.VolumeID)
		v.Connection = connection(volume, a.Mode)
		v.Connection["attachment_id"] = a.ID
	}
	return v
}

// connection is what a host would need to reach the device.
func connection(v model.Volume, mode string) map[string]any {
	return map[string]any{"driver_volume_type": "local", "volume_id": v.ID, "access_mode": mode, "encrypted": v.Encrypted,
		"device_path": nil, "qos_specs": nil, "cacheable": false}
}

func (s *service) attachment(c *api.Call, r store.Reader) (model.Attachment, error) {
	a, ok := s.model.Attachments.Get(r, c.Path("id"))
	if !ok || !c.Principal.Owns(a.ProjectID) {
		return a, noAttachment(c.Path("id"))
	}
	return a, nil
}

func (s *service) listAttachments(detail bool) api.Handler {
	return func(c *api.Call) error {
		list := api.List[attachmentView]{Key: "attachments", ID: func(v attachmentView) string { return v.ID },
			MaxLimit: 1000, Links: nextLinks, Filters: map[string]api.Filter[attachmentView]{
				"all_tenants": nil, "project_id": nil,
				"instance_id": func(v attachmentView, ids []string) bool { return v.ServerID != nil && *v.ServerID == ids[0] },
			}}
		if !detail {
			list.Render = func(v attachmentView) any {
				return map[string]any{"id": v.ID, "volume_id": v.VolumeID, "instance": v.ServerID, "status": v.Status}
			}
		}
		return c.View(func(r store.Reader) error {
			return list.Reply(c, s.attachmentViews(c, r))
		})
	}
}

func (s *service) attachmentViews(c *api.Call, r store.Reader) iter.Seq[attachmentView] {
	everyone := c.Principal.Admin() && truth(c.Query("all_tenants"))
	return func(yield func(attachmentView) bool) {
		for a := range s.model.Attachments.All(r) {
			if (everyone || a.ProjectID == c.Principal.ProjectID) && !yield(s.attachmentView(r, a)) {
				return
			}
		}
	}
}

func (s *service) replyAttachment(c *api.Call, r store.Reader, a model.Attachment) error {
	return c.Reply(http.StatusOK, map[string]any{"attachment": s.attachmentView(r, a)})
}

func (s *service) showAttachment(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		a, err := s.attachment(c, r)
		if err != nil {
			return err
		}
		return s.replyAttachment(c, r, a)
	})
}

type attachmentInput struct {
	VolumeID  string         `json:"volume_uuid"`
	ServerID  string         `json:"instance_uuid"`
	Connector map[string]any `json:"connector"`
	Mode      string         `json:"mode"`
}

func (in attachmentInput) check() error {
	if in.Mode != "" && in.Mode != "rw" && in.Mode != "ro" {
		return api.BadRequest("Invalid input for field/attribute mode. Value: %s. '%s' is not one of ['rw', 'ro']", in.Mode, in.Mode)
	}
	return nil
}

// connect gives an attachment its connector: the host attaches the device.
func (s *service) connect(tx *store.Tx, a *model.Attachment, in attachmentInput) {
	a.Connector, a.Status = in.Connector, Attaching
	a.Host, _ = in.Connector["host"].(string)
	a.Device, _ = in.Connector["mountpoint"].(string)
	if mode, ok := in.Connector["mode"].(string); ok && in.Mode == "" {
		in.Mode = mode
	}
	if in.Mode != "" {
		a.Mode = in.Mode
	}
	s.model.Attachments.Put(tx, *a)
	settle(tx, s.env, a.VolumeID)
}

func (s *service) createAttachment(c *api.Call) error {
	var in attachmentInput
	if err := c.DecodeIn("attachment", &in); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	if in.VolumeID == "" {
		return api.BadRequest("Invalid input for field/attribute attachment. 'volume_uuid' is a required property")
	}
	return c.Update(func(tx *store.Tx) error {
		v, err := Get(tx, s.env.Model, c.Principal, in.VolumeID)
		if err != nil {
			return err
		}
		a, err := Reserve(tx, s.env, v.ID, in.ServerID)
		if err != nil {
			return err
		}
		if v.ReadOnly != nil && *v.ReadOnly {
			a.Mode = "ro"
			s.model.Attachments.Put(tx, a)
		}
		if len(in.Connector) > 0 {
			s.connect(tx, &a, in)
		}
		return s.replyAttachment(c, tx, a)
	})
}

func (s *service) updateAttachment(c *api.Call) error {
	var in attachmentInput
	if err := c.DecodeIn("attachment", &in); err != nil {
		return err
	}
	if len(in.Connector) == 0 {
		return api.BadRequest("Invalid input for field/attribute connector. Value: {}. {} does not have enough properties")
	}
	return c.Update(func(tx *store.Tx) error {
		a, err := s.attachment(c, tx)
		if err != nil {
			return err
		}
		if a.Status != Reserved && a.Status != Attaching {
			return api.BadRequest("Invalid attachment: Attachment %s is %s and cannot be updated.", a.ID, a.Status)
		}
		s.connect(tx, &a, in)
		return s.replyAttachment(c, tx, a)
	})
}

func (s *service) completeAttachment(c *api.Call) error {
	var in map[string]any
	if err := c.Decode(&in); err != nil {
		return err
	}
	if _, ok := in["os-complete"]; !ok {
		return api.BadRequest("There is no such action: %s", anyKey(in))
	}
	return c.Update(func(tx *store.Tx) error {
		a, err := s.attachment(c, tx)
		if err != nil {
			return err
		}
		if err := Attach(tx, s.env, a.ID, a.Device, a.Host); err != nil {
			return err
		}
		return c.Reply(http.StatusNoContent, nil)
	})
}

func (s *service) deleteAttachment(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		a, err := s.attachment(c, tx)
		if err != nil {
			return err
		}
		Detach(tx, s.env, a.ID)
		left := []attachmentView{}
		for other := range s.model.AttachmentsOf.Each(tx, a.VolumeID) {
			left = append(left, s.attachmentView(tx, other))
		}
		return c.Reply(http.StatusOK, map[string]any{"attachments": left})
	})
}

func anyKey[T any](m map[string]T) string {
	for key := range m {
		return key
	}
	return ""
}
