package volume

import (
	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// reservable refuses volumes that cannot be attached to one more server.
func reservable(r store.Reader, m model.Volumes, v model.Volume, serverID string) error {
	allowed := "available or downloading"
	if v.Multiattach {
		allowed = "available or in-use or downloading"
	}
	free := v.Status == model.VolumeAvailable ||
		v.Status == model.VolumeDownloading && m.AttachmentsOf.Count(r, v.ID) == 0
	shared := v.Multiattach && (v.Status == model.VolumeInUse || v.Status == model.VolumeReserved || v.Status == model.VolumeAttaching)
	again := false
	for a := range m.AttachmentsOf.Each(r, v.ID) {
		again = again || (serverID != "" && a.ServerID == serverID)
	}
	if free || shared && !again {
		return nil
	}
	return api.BadRequest("Invalid volume: Volume %s status must be %s to reserve, but the current status is %s.",
		v.ID, allowed, v.Status)
}

func undetachable() error {
	return api.BadRequest("Invalid volume: Unable to detach volume. Volume status must be 'in-use' and attach_status must be 'attached' to detach.")
}

func noAttachment(id string) error {
	return api.NotFound("Volume attachment could not be found with filter: attachment_id = %s.", id)
}

// settle gives a volume the status that its attachments make: the most
// advanced one of them counts. An operation under way keeps its status and
// comes back to what settle would say.
func settle(tx *store.Tx, env *api.Env, volumeID string) {
	status := model.VolumeAvailable
	rank := 0
	for a := range env.Model.Volume.AttachmentsOf.Each(tx, volumeID) {
		if n, s := ranked(a.Status); n > rank {
			rank, status = n, s
		}
	}
	env.Model.Volume.Volumes.Change(tx, volumeID, func(v *model.Volume) {
		v.UpdatedAt = env.Timing.Now()
		if v.Work != nil {
			v.Before = status
			return
		}
		v.Status = status
	})
}

func ranked(attachment string) (int, string) {
	switch attachment {
	case Reserved:
		return 1, model.VolumeReserved
	case Attached:
		return 2, model.VolumeInUse
	case Attaching:
		return 3, model.VolumeAttaching
	case Detaching:
		return 4, model.VolumeDetaching
	}
	return 0, model.VolumeAvailable
}

// deletable refuses volumes that are busy, attached, offered to another
// project, or have snapshots that do not go with them.
func deletable(r store.Reader, m model.Volumes, v model.Volume, cascade bool) error {
	free := v.Work == nil
	switch v.Status {
	case model.VolumeAvailable, model.VolumeError, "error_deleting", "error_restoring", "error_extending", "error_managing":
	default:
		free = false
	}
	for snapshot := range m.SnapshotsIn.Each(r, v.ID) {
		settled := snapshot.Work == nil && (snapshot.Status == model.VolumeAvailable || snapshot.Status == model.VolumeError)
		free = free && cascade && settled
	}
	if free && m.AttachmentsOf.Count(r, v.ID) == 0 && v.MigrationStatus == "" {
		return nil
	}
	return api.BadRequest("Invalid volume: Volume status must be available or error or error_restoring or error_extending or " +
		"error_managing and must not be migrating, attached, belong to a group, have snapshots, awaiting a transfer, or be " +
		"disassociated from snapshots after volume transfer.")
}
