package volume

import (
	"iter"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// Statuses of an attachment.
const (
	Reserved  = "reserved"
	Attaching = "attaching"
	Attached  = "attached"
	Detaching = "detaching"
)

// Get returns a volume that the caller owns. Its error is 404.
func Get(r store.Reader, m *model.Model, p *api.Principal, id string) (model.Volume, error) {
	v, ok := m.Volume.Volumes.Get(r, id)
	if !ok || v.Status == unmanaged || !p.Owns(v.ProjectID) {
		return model.Volume{}, api.NotFound("Volume %s could not be found.", id)
	}
	return v, nil
}

// Reserve claims a volume for a server and returns the attachment: the volume
// is reserved, which no one else can then attach. Its error is 400 unless the
// volume is available, downloading, or in use and multiattach.
func Reserve(tx *store.Tx, env *api.Env, volumeID, serverID string) (model.Attachment, error) {
	m := env.Model.Volume
	v, ok := m.Volumes.Get(tx, volumeID)
	if !ok {
		return model.Attachment{}, api.NotFound("Volume %s could not be found.", volumeID)
	}
	if err := reservable(tx, m, v, serverID); err != nil {
		return model.Attachment{}, err
	}
	a := model.Attachment{ID: model.NewID(), VolumeID: v.ID, ProjectID: v.ProjectID, ServerID: serverID,
		Status: Reserved, Mode: "rw", CreatedAt: env.Timing.Now()}
	m.Attachments.Put(tx, a)
	settle(tx, env, v.ID)
	return a, nil
}

// Attach completes an attachment once the machine has the device, whose path
// in it ("/dev/vdb") is kept: the volume is in use. Its error is 404.
func Attach(tx *store.Tx, env *api.Env, attachmentID, device, host string) error {
	now := env.Timing.Now()
	a, ok := env.Model.Volume.Attachments.Get(tx, attachmentID)
	if !ok {
		return noAttachment(attachmentID)
	}
	a.Status, a.Device, a.Host = Attached, device, host
	if a.AttachedAt == nil {
		a.AttachedAt = &now
	}
	env.Model.Volume.Attachments.Put(tx, a)
	settle(tx, env, a.VolumeID)
	return nil
}

// BeginDetach marks the attachment of a volume to a server as being detached.
// Its error is 404 when there is none, and 400 unless it is attached.
func BeginDetach(tx *store.Tx, env *api.Env, volumeID, serverID string) (model.Attachment, error) {
	a, ok := Attachment(tx, env.Model, volumeID, serverID)
	v, _ := env.Model.Volume.Volumes.Get(tx, volumeID)
	switch {
	case !ok:
		return a, api.NotFound("Volume %s is not attached to server %s.", volumeID, serverID)
	case a.Status != Attached || v.Status != model.VolumeInUse:
		return a, undetachable()
	}
	a.Status = Detaching
	env.Model.Volume.Attachments.Put(tx, a)
	settle(tx, env, volumeID)
	return a, nil
}

// RollDetach undoes BeginDetach, when the machine would not let go.
func RollDetach(tx *store.Tx, env *api.Env, attachmentID string) error {
	a, ok := env.Model.Volume.Attachments.Get(tx, attachmentID)
	if !ok {
		return noAttachment(attachmentID)
	}
	if a.Status == Detaching {
		a.Status = Attached
		env.Model.Volume.Attachments.Put(tx, a)
		settle(tx, env, a.VolumeID)
	}
	return nil
}

// Detach ends an attachment of any status, once the machine has let the device
// go or never had it; the volume is available if it was the last one. It does
// nothing when there is none.
func Detach(tx *store.Tx, env *api.Env, attachmentID string) {
	a, ok := env.Model.Volume.Attachments.Get(tx, attachmentID)
	if !ok {
		return
	}
	env.Model.Volume.Attachments.Delete(tx, attachmentID)
	settle(tx, env, a.VolumeID)
}

// Attachments yields the attachments of a server, oldest first, of any status.
func Attachments(r store.Reader, m *model.Model, serverID string) iter.Seq[model.Attachment] {
	return m.Volume.AttachmentsOn.Each(r, serverID)
}

// Attachment returns the attachment of a volume to a server.
func Attachment(r store.Reader, m *model.Model, volumeID, serverID string) (model.Attachment, bool) {
	for a := range m.Volume.AttachmentsOf.Each(r, volumeID) {
		if a.ServerID == serverID {
			return a, true
		}
	}
	return model.Attachment{}, false
}
