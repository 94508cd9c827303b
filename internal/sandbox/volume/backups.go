package volume

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) backupRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v3/backups", Role: api.Reader, Handle: s.listBackups(false)},
		{Pattern: "GET /v3/backups/detail", Role: api.Reader, Handle: s.listBackups(true)},
		{Pattern: "POST /v3/backups", Role: api.Member, Handle: s.createBackup},
		{Pattern: "GET /v3/backups/{id}", Role: api.Reader, Handle: s.showBackup},
		{Pattern: "PUT /v3/backups/{id}", Role: api.Member, Handle: since(9, s.updateBackup)},
		{Pattern: "DELETE /v3/backups/{id}", Role: api.Member, Handle: s.deleteBackup},
		{Pattern: "POST /v3/backups/{id}/restore", Role: api.Member, Handle: s.restore},
		{Pattern: "POST /v3/backups/{id}/action", Role: api.Admin, Handle: s.actOnBackup},
	}
}

// backupView is a backup as clients see it.
type backupView struct {
	ID          string             `json:"id"`
	Name        *string            `json:"name"`
	Description *string            `json:"description"`
	VolumeID    string             `json:"volume_id"`
	SnapshotID  *string            `json:"snapshot_id"`
	Status      string             `json:"status"`
	Size        int                `json:"size"`
	Objects     int                `json:"object_count"`
	Container   *string            `json:"container"`
	Zone        *string            `json:"availability_zone"`
	Incremental bool               `json:"is_incremental"`
	Dependents  bool               `json:"has_dependent_backups"`
	FailReason  *string            `json:"fail_reason"`
	CreatedAt   string             `json:"created_at"`
	UpdatedAt   string             `json:"updated_at"`
	DataAt      string             `json:"data_timestamp"`
	Metadata    *map[string]string `json:"metadata,omitempty"`
	UserID      string             `json:"user_id,omitempty"`
	ProjectID   string             `json:"os-backup-project-attr:project_id,omitempty"`
	Links       []api.Link         `json:"links"`
}

func (s *service) backupView(c *api.Call, r store.Reader, v model.Backup) backupView {
	out := backupView{ID: v.ID, Name: orNull(v.Name), Description: orNull(v.Description), VolumeID: v.VolumeID,
		SnapshotID: orNull(v.SnapshotID), Status: v.Status, Size: v.Size, Container: orNull(v.Container),
		Zone: orNull(v.AvailabilityZone), Incremental: v.Incremental, FailReason: orNull(v.FailReason), CreatedAt: stamp(v.CreatedAt),
		UpdatedAt: stamp(v.UpdatedAt), DataAt: stamp(v.DataAt), Links: links(c, "backups", v.ID)}
	for other := range s.model.BackupsOf.Each(r, v.ProjectID) {
		out.Dependents = out.Dependents || other.ParentID == v.ID
	}
	if c.Version.AtLeast(3, 43) {
		metadata := filled(v.Metadata)
		out.Metadata = &metadata
	}
	if c.Version.AtLeast(3, 56) {
		out.UserID = v.UserID
	}
	if c.Version.AtLeast(3, 18) && c.Principal.Admin() {
		out.ProjectID = v.ProjectID
	}
	return out
}

func (s *service) backup(c *api.Call, r store.Reader) (model.Backup, error) {
	v, ok := s.model.Backups.Get(r, c.Path("id"))
	if !ok || !c.Principal.Owns(v.ProjectID) {
		return v, api.NotFound("Backup %s could not be found.", c.Path("id"))
	}
	return v, nil
}

func shortBackup(v backupView) any {
	return map[string]any{"id": v.ID, "name": v.Name, "links": v.Links}
}

func (s *service) listBackups(detail bool) api.Handler {
	return func(c *api.Call) error {
		list := api.List[backupView]{Key: "backups", ID: func(v backupView) string { return v.ID },
			Sort: []string{"created_at:desc"}, MaxLimit: 1000, Links: nextLinks,
			Filters: map[string]api.Filter[backupView]{"all_tenants": nil, "project_id": nil, "with_count": nil, "offset": nil}}
		if !detail {
			list.Render = shortBackup
		}
		return c.View(func(r store.Reader) error {
			return list.Reply(c, func(yield func(backupView) bool) {
				for v := range mine(c, r, s.model.Backups, s.model.BackupsOf, func(v model.Backup) string { return v.ProjectID }) {
					if !yield(s.backupView(c, r, v)) {
						return
					}
				}
			})
		})
	}
}

func (s *service) showBackup(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		v, err := s.backup(c, r)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"backup": s.backupView(c, r, v)})
	})
}

type backupInput struct {
	VolumeID    string                          `json:"volume_id"`
	SnapshotID  string                          `json:"snapshot_id"`
	Name        api.Optional[string]            `json:"name"`
	Description api.Optional[string]            `json:"description"`
	Container   string                          `json:"container"`
	Incremental any                             `json:"incremental"`
	Force       any                             `json:"force"`
	Metadata    api.Optional[map[string]string] `json:"metadata"`
	Zone        string                          `json:"availability_zone"`
}

func (s *service) createBackup(c *api.Call) error {
	var in backupInput
	if err := c.DecodeIn("backup", &in); err != nil {
		return err
	}
	force, err := flag("force", orFalse(in.Force))
	if err != nil {
		return err
	}
	incremental, err := flag("incremental", orFalse(in.Incremental))
	if err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		v, err := Get(tx, s.env.Model, c.Principal, in.VolumeID)
		if err != nil {
			return err
		}
		if err := s.backupable(tx, c, v, in.SnapshotID, force); err != nil {
			return err
		}
		now := s.env.Timing.Now()
		b := model.Backup{ID: model.NewID(), Name: in.Name.Value, Description: in.Description.Value, VolumeID: v.ID,
			SnapshotID: in.SnapshotID, ProjectID: v.ProjectID, UserID: c.Principal.UserID(), Status: model.VolumeCreating,
			Size: v.Size, Container: in.Container, AvailabilityZone: zone, Incremental: incremental, Metadata: in.Metadata.Value,
			CreatedAt: now, UpdatedAt: now, DataAt: now, Work: s.env.Timing.Start(endCreate, 3*time.Second)}
		if snapshot, ok := s.model.Snapshots.Get(tx, in.SnapshotID); ok {
			b.Size = snapshot.Size
		}
		if b.ParentID, err = s.parent(tx, v.ID, incremental); err != nil {
			return err
		}
		s.model.Backups.Put(tx, b)
		return c.Reply(http.StatusAccepted, map[string]any{"backup": shortBackup(s.backupView(c, tx, b))})
	})
}

func (s *service) backupable(tx *store.Tx, c *api.Call, v model.Volume, snapshotID string, force bool) error {
	if snapshotID != "" {
		snapshot, ok := s.model.Snapshots.Get(tx, snapshotID)
		switch {
		case !ok || !c.Principal.Owns(snapshot.ProjectID):
			return api.NotFound("Snapshot %s could not be found.", snapshotID)
		case snapshot.VolumeID != v.ID:
			return api.BadRequest("Invalid volume: Volume %s does not match with snapshot.volume_id %s.", v.ID, snapshot.VolumeID)
		case snapshot.Status != model.VolumeAvailable:
			return api.BadRequest("Invalid snapshot: Snapshot to be backed up must be available, but the current status is \"%s\".", snapshot.Status)
		}
	} else if v.Status != model.VolumeAvailable && (v.Status != model.VolumeInUse || !force) {
		return api.BadRequest("Invalid volume: Volume to be backed up must be available or in-use, but the current status is \"%s\".", v.Status)
	}
	return ledger{s.env, v.ProjectID}.backup(tx, v.Size)
}

// parent is the backup that an incremental one builds on.
func (s *service) parent(r store.Reader, volumeID string, incremental bool) (string, error) {
	if !incremental {
		return "", nil
	}
	parent := ""
	for b := range s.model.Backups.All(r) {
		if b.VolumeID == volumeID && b.Status == model.VolumeAvailable {
			parent = b.ID
		}
	}
	if parent == "" {
		return "", api.BadRequest("Invalid backup: No backups available to do an incremental backup.")
	}
	return parent, nil
}

func (s *service) updateBackup(c *api.Call) error {
	var in backupInput
	if err := c.DecodeIn("backup", &in); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		v, err := s.backup(c, tx)
		if err != nil {
			return err
		}
		in.Name.Apply(&v.Name)
		in.Description.Apply(&v.Description)
		in.Metadata.Apply(&v.Metadata)
		v.UpdatedAt = s.env.Timing.Now()
		s.model.Backups.Put(tx, v)
		return c.Reply(http.StatusOK, map[string]any{"backup": shortBackup(s.backupView(c, tx, v))})
	})
}

func (s *service) removeBackup(tx *store.Tx, id string) {
	s.model.Backups.Change(tx, id, func(v *model.Backup) {
		v.Status, v.Work, v.UpdatedAt = model.VolumeDeleting, s.env.Timing.Start(endDelete, time.Second), s.env.Timing.Now()
	})
}

func (s *service) deleteBackup(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		v, err := s.backup(c, tx)
		switch {
		case err != nil:
			return err
		case v.Status != model.VolumeAvailable && v.Status != model.VolumeError:
			return api.BadRequest("Invalid backup: Backup status must be available or error")
		case s.backupView(c, tx, v).Dependents:
			return api.BadRequest("Invalid backup: Incremental backups exist for this backup.")
		}
		s.removeBackup(tx, v.ID)
		return c.Reply(http.StatusAccepted, nil)
	})
}

// restore puts the bytes of a backup on a volume: the one named, or a new one.
func (s *service) restore(c *api.Call) error {
	var in struct {
		VolumeID string `json:"volume_id"`
		Name     string `json:"name"`
	}
	if err := c.DecodeIn("restore", &in); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		b, err := s.backup(c, tx)
		if err != nil {
			return err
		}
		if b.Status != model.VolumeAvailable {
			return api.BadRequest("Invalid backup: Backup status must be available")
		}
		v, err := s.target(c, tx, b, in.VolumeID, in.Name)
		if err != nil {
			return err
		}
		s.begin(tx, v.ID, "restoring-backup", endRestore, 3*time.Second, func(v *model.Volume) {
			v.Restore, v.Before = b.ID, model.VolumeAvailable
		})
		s.model.Backups.Change(tx, b.ID, func(b *model.Backup) { b.Status = "restoring" })
		return c.Reply(http.StatusAccepted, map[string]any{"restore": map[string]string{
			"backup_id": b.ID, "volume_id": v.ID, "volume_name": v.Name}})
	})
}

func (s *service) target(c *api.Call, tx *store.Tx, b model.Backup, volumeID, name string) (model.Volume, error) {
	if volumeID == "" {
		if name == "" {
			name = "restore_backup_" + b.ID
		}
		return Create(tx, s.env, c.Principal, Spec{Name: name, Size: b.Size, Description: b.Description})
	}
	v, err := Get(tx, s.env.Model, c.Principal, volumeID)
	switch {
	case err != nil:
		return v, err
	case v.Status != model.VolumeAvailable:
		return v, api.BadRequest("Invalid volume: Volume to be restored to must be available")
	case v.Size < b.Size:
		return v, api.BadRequest("Invalid volume: volume size %d is too small to restore backup of size %d.", v.Size, b.Size)
	}
	return v, nil
}

// restored makes a backup that was read available again.
func (s *service) restored(tx *store.Tx, id string) {
	s.model.Backups.Change(tx, id, func(b *model.Backup) { b.Status, b.UpdatedAt = model.VolumeAvailable, s.env.Timing.Now() })
}

func (s *service) actOnBackup(c *api.Call) error {
	var body map[string]json.RawMessage
	if err := c.Decode(&body); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		v, err := s.backup(c, tx)
		if err != nil {
			return err
		}
		switch name := anyKey(body); name {
		case "os-force_delete":
			s.removeBackup(tx, v.ID)
		case "os-reset_status":
			status, err := statusOf(body[name], "available", "error")
			if err != nil {
				return err
			}
			s.model.Backups.Change(tx, v.ID, func(v *model.Backup) { v.Status, v.Work = status, nil })
		default:
			return api.BadRequest("There is no such action: %s", name)
		}
		return c.Reply(http.StatusAccepted, nil)
	})
}

// keep lets the driver copy what a backup is of. The driver keeps a backup as
// a snapshot: of the volume, or of a volume that is made from the snapshot for
// that and has the backup's id.
func (s *service) keep(ctx context.Context, b model.Backup) error {
	volumes := s.env.Host.Volumes()
	if b.SnapshotID == "" {
		return volumes.CreateSnapshot(ctx, b.ID, b.VolumeID)
	}
	err := volumes.CreateVolume(ctx, machine.Volume{ID: b.ID, GiB: b.Size, SourceSnapshot: b.SnapshotID})
	if err == nil {
		err = volumes.CreateSnapshot(ctx, b.ID, b.ID)
	}
	return errors.Join(err, volumes.DeleteVolume(ctx, b.ID))
}

// workBackup ends operations on backups.
func (s *service) workBackup(ctx context.Context, id string) (time.Duration, error) {
	return work[model.Backup]{
		service: s, table: s.model.Backups, pending: func(v model.Backup) job { return job{v.Work, v.ProjectID, "VOLUME_BACKUP"} },
		create: func(v model.Backup) error { return s.keep(ctx, v) },
		remove: func(v model.Backup) error { return s.env.Host.Volumes().DeleteSnapshot(ctx, v.ID) },
		end: func(v *model.Backup, status string, made bool) {
			v.Status, v.Made, v.Work, v.UpdatedAt = status, made, nil, s.env.Timing.Now()
			if !made {
				v.FailReason = "The driver could not keep the bytes of the volume."
			}
		},
	}.do(ctx, id)
}
