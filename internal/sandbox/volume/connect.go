package volume

import (
	"encoding/json"
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// The actions of this file are the way to attach before attachments had an
// API of their own; there the volume alone has a status.

func (s *service) mark(tx *store.Tx, id, status string) {
	s.model.Volumes.Change(tx, id, func(v *model.Volume) { v.Status, v.UpdatedAt = status, s.env.Timing.Now() })
}

func (s *service) reserve(_ *api.Call, tx *store.Tx, v model.Volume, _ json.RawMessage) error {
	expected := "available"
	if v.Multiattach {
		expected = "available or in-use"
	}
	if v.Status != model.VolumeAvailable && (!v.Multiattach || v.Status != model.VolumeInUse) {
		return api.BadRequest("Invalid volume: Volume status must be %s to reserve, but the current status is %s.", expected, v.Status)
	}
	s.mark(tx, v.ID, model.VolumeAttaching)
	return nil
}

func (s *service) unreserve(_ *api.Call, tx *store.Tx, v model.Volume, _ json.RawMessage) error {
	if v.Status == model.VolumeAttaching {
		settle(tx, s.env, v.ID)
	}
	return nil
}

func (s *service) attach(_ *api.Call, tx *store.Tx, v model.Volume, text json.RawMessage) error {
	var in struct {
		ServerID string `json:"instance_uuid"`
		Host     string `json:"host_name"`
		Device   string `json:"mountpoint"`
		Mode     string `json:"mode"`
	}
	if err := arguments(text, &in); err != nil {
		return err
	}
	if err := (attachmentInput{Mode: in.Mode}).check(); err != nil {
		return err
	}
	switch {
	case in.ServerID == "" && in.Host == "" || in.Device == "":
		return api.BadRequest("Invalid request to attach volume to an invalid target")
	case v.Status != model.VolumeAvailable && v.Status != model.VolumeAttaching && v.Status != model.VolumeReserved &&
		(!v.Multiattach || v.Status != model.VolumeInUse):
		return api.BadRequest("Invalid volume: status must be available or attaching, but is %s", v.Status)
	}
	a := model.Attachment{ID: model.NewID(), VolumeID: v.ID, ProjectID: v.ProjectID, ServerID: in.ServerID,
		Mode: in.Mode, CreatedAt: s.env.Timing.Now()}
	if a.Mode == "" {
		a.Mode = "rw"
	}
	for reserved := range s.model.AttachmentsOf.Each(tx, v.ID) {
		if reserved.Status == Reserved && (reserved.ServerID == in.ServerID || reserved.ServerID == "") {
			a.ID, a.CreatedAt = reserved.ID, reserved.CreatedAt
		}
	}
	s.model.Attachments.Put(tx, a)
	return Attach(tx, s.env, a.ID, in.Device, in.Host)
}

func (s *service) detach(_ *api.Call, tx *store.Tx, v model.Volume, text json.RawMessage) error {
	var in struct {
		Attachment string `json:"attachment_id"`
	}
	if err := arguments(text, &in); err != nil {
		return err
	}
	if in.Attachment == "" && s.model.AttachmentsOf.Count(tx, v.ID) > 1 {
		return api.BadRequest("Invalid volume: Detach volume failed: More than one attachment, but no attachment_id provided.")
	}
	found := in.Attachment == ""
	for a := range s.model.AttachmentsOf.Each(tx, v.ID) {
		if in.Attachment == "" || a.ID == in.Attachment {
			found = true
			s.model.Attachments.Delete(tx, a.ID)
		}
	}
	if !found {
		return noAttachment(in.Attachment)
	}
	settle(tx, s.env, v.ID)
	return nil
}

func (s *service) beginDetaching(_ *api.Call, tx *store.Tx, v model.Volume, _ json.RawMessage) error {
	if v.Status != model.VolumeInUse || s.model.AttachmentsOf.Count(tx, v.ID) == 0 {
		return undetachable()
	}
	s.mark(tx, v.ID, model.VolumeDetaching)
	return nil
}

func (s *service) rollDetaching(_ *api.Call, tx *store.Tx, v model.Volume, _ json.RawMessage) error {
	if v.Status == model.VolumeDetaching {
		s.mark(tx, v.ID, model.VolumeInUse)
	}
	return nil
}

type connectorInput struct {
	Connector map[string]any `json:"connector"`
}

func (s *service) initializeConnection(c *api.Call, _ *store.Tx, v model.Volume, text json.RawMessage) error {
	var in connectorInput
	if err := arguments(text, &in); err != nil {
		return err
	}
	if in.Connector == nil {
		return api.BadRequest("Must specify 'connector'")
	}
	mode := "rw"
	if v.ReadOnly != nil && *v.ReadOnly {
		mode = "ro"
	}
	info := connection(v, mode)
	return c.Reply(http.StatusOK, map[string]any{"connection_info": map[string]any{
		"driver_volume_type": info["driver_volume_type"], "data": info}})
}

func (s *service) terminateConnection(_ *api.Call, _ *store.Tx, _ model.Volume, text json.RawMessage) error {
	var in connectorInput
	if err := arguments(text, &in); err != nil {
		return err
	}
	if in.Connector == nil {
		return api.BadRequest("Must specify 'connector'")
	}
	return nil
}
