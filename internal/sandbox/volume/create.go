package volume

import (
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/image"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// Spec is a volume to be; at most one of ImageID, SnapshotID, SourceID and
// BackupID is set.
type Spec struct {
	Name, Description string
	// Size is in GiB; 0 is that of the snapshot or volume it is made from.
	Size int
	// ImageID, SnapshotID, SourceID (a volume) and BackupID are the source.
	ImageID, SnapshotID, SourceID, BackupID string
	// Type is a name or id; empty is the default type, or the source's.
	Type             string
	AvailabilityZone string
	Metadata         map[string]string
	Multiattach      bool
}

// Create adds a volume of the caller's project in status creating; it becomes
// available, or error, when the driver has made it. Its errors are those of
// Cinder: 400 for bad sizes and sources, 404 for unknown ones, 413 over quota.
func Create(tx *store.Tx, env *api.Env, p *api.Principal, spec Spec) (model.Volume, error) {
	now := env.Timing.Now()
	v := model.Volume{ID: model.NewID(), Name: spec.Name, Description: spec.Description, ProjectID: p.ProjectID,
		UserID: p.UserID(), Size: spec.Size, Status: model.VolumeCreating, Metadata: spec.Metadata, Host: pool,
		CreatedAt: now, UpdatedAt: now, Before: model.VolumeAvailable}
	b := builder{tx: tx, env: env, caller: p, spec: spec, volume: &v}
	for _, step := range []func() error{b.source, b.size, b.kind, b.zone, b.quota} {
		if err := step(); err != nil {
			return model.Volume{}, err
		}
	}
	if v.Metadata == nil {
		v.Metadata = map[string]string{}
	}
	if v.ImageID != "" {
		if err := image.Hold(tx, env.Model, v.ImageID, v.ID); err != nil {
			return model.Volume{}, err
		}
	}
	v.Work = env.Timing.Start(model.VolumeAvailable, 2*time.Second)
	env.Model.Volume.Volumes.Put(tx, v)
	return v, nil
}

// Delete begins to delete a volume, as the end of a server does with those
// that were to go with it. Its error is 404, or 400 unless the volume is
// neither attached nor busy and has no snapshots.
func Delete(tx *store.Tx, env *api.Env, id string) error {
	v, ok := env.Model.Volume.Volumes.Get(tx, id)
	if !ok {
		return api.NotFound("Volume %s could not be found.", id)
	}
	if err := deletable(tx, env.Model.Volume, v, false); err != nil {
		return err
	}
	remove(tx, env, v)
	return nil
}

// remove puts a volume in status deleting; the reconciler ends it.
func remove(tx *store.Tx, env *api.Env, v model.Volume) {
	for a := range env.Model.Volume.AttachmentsOf.Each(tx, v.ID) {
		env.Model.Volume.Attachments.Delete(tx, a.ID)
	}
	image.Release(tx, env.Model, v.ID)
	env.Model.Volume.Volumes.Change(tx, v.ID, func(v *model.Volume) {
		v.Status, v.Before, v.UpdatedAt = model.VolumeDeleting, "", env.Timing.Now()
		v.Work = env.Timing.Start("deleted", 2*time.Second)
	})
}
