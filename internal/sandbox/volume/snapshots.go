package volume

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) snapshotRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v3/snapshots", Role: api.Reader, Handle: s.listSnapshots(false)},
		{Pattern: "GET /v3/snapshots/detail", Role: api.Reader, Handle: s.listSnapshots(true)},
		{Pattern: "POST /v3/snapshots", Role: api.Member, Handle: s.createSnapshot},
		{Pattern: "GET /v3/snapshots/{id}", Role: api.Reader, Handle: s.showSnapshot},
		{Pattern: "PUT /v3/snapshots/{id}", Role: api.Member, Handle: s.updateSnapshot},
		{Pattern: "DELETE /v3/snapshots/{id}", Role: api.Member, Handle: s.deleteSnapshot},
		{Pattern: "POST /v3/snapshots/{id}/action", Role: api.Member, Handle: s.actOnSnapshot},
	}
}

// snapshotView is a snapshot as clients see it.
type snapshotView struct {
	ID          string            `json:"id"`
	Name        *string           `json:"name"`
	Description *string           `json:"description"`
	VolumeID    string            `json:"volume_id"`
	Status      string            `json:"status"`
	Size        int               `json:"size"`
	Metadata    map[string]string `json:"metadata"`
	CreatedAt   string            `json:"created_at"`
	UpdatedAt   string            `json:"updated_at"`
	Progress    string            `json:"os-extended-snapshot-attributes:progress"`
	ProjectID   string            `json:"os-extended-snapshot-attributes:project_id"`
	UserID      string            `json:"user_id,omitempty"`
	Group       *string           `json:"group_snapshot_id"`
	Consumes    *bool             `json:"consumes_quota,omitempty"`
}

func newSnapshotView(c *api.Call, v model.Snapshot) snapshotView {
	out := snapshotView{ID: v.ID, Name: &v.Name, Description: orNull(v.Description), VolumeID: v.VolumeID, Status: v.Status,
		Size: v.Size, Metadata: filled(v.Metadata), CreatedAt: stamp(v.CreatedAt), UpdatedAt: stamp(v.UpdatedAt),
		Progress: "0%", ProjectID: v.ProjectID}
	if v.Status == model.VolumeAvailable {
		out.Progress = "100%"
	}
	if c.Version.AtLeast(3, 41) {
		out.UserID = v.UserID
	}
	if c.Version.AtLeast(3, 65) {
		consumes := true
		out.Consumes = &consumes
	}
	return out
}

func (s *service) snapshot(c *api.Call, r store.Reader) (model.Snapshot, error) {
	v, ok := s.model.Snapshots.Get(r, c.Path("id"))
	if !ok || !c.Principal.Owns(v.ProjectID) {
		return v, api.NotFound("Snapshot %s could not be found.", c.Path("id"))
	}
	return v, nil
}

func (s *service) listSnapshots(detail bool) api.Handler {
	return func(c *api.Call) error {
		list := api.List[snapshotView]{Key: "snapshots", ID: func(v snapshotView) string { return v.ID },
			Sort: []string{"created_at:desc"}, MaxLimit: 1000, Links: nextLinks, Filters: map[string]api.Filter[snapshotView]{
				"all_tenants": nil, "project_id": nil, "with_count": nil, "offset": nil,
				"name":     func(v snapshotView, names []string) bool { return *v.Name == unquoted(names[0]) },
				"name~":    func(v snapshotView, names []string) bool { return strings.Contains(*v.Name, names[0]) },
				"metadata": func(v snapshotView, words []string) bool { return within(dictionary(words[0]), v.Metadata) },
			}}
		if !detail {
			list.Render = func(v snapshotView) any {
				v.Progress, v.ProjectID = "", ""
				return map[string]any{"id": v.ID, "name": v.Name, "description": v.Description, "volume_id": v.VolumeID,
					"status": v.Status, "size": v.Size, "metadata": v.Metadata, "created_at": v.CreatedAt, "updated_at": v.UpdatedAt}
			}
		}
		return c.View(func(r store.Reader) error {
			return list.Reply(c, func(yield func(snapshotView) bool) {
				for v := range mine(c, r, s.model.Snapshots, s.model.SnapshotsOf, func(v model.Snapshot) string { return v.ProjectID }) {
					if !yield(newSnapshotView(c, v)) {
						return
					}
				}
			})
		})
	}
}

func replySnapshot(c *api.Call, status int, v model.Snapshot) error {
	return c.Reply(status, map[string]any{"snapshot": newSnapshotView(c, v)})
}

func (s *service) showSnapshot(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		v, err := s.snapshot(c, r)
		if err != nil {
			return err
		}
		return replySnapshot(c, http.StatusOK, v)
	})
}

type snapshotInput struct {
	VolumeID    string                          `json:"volume_id"`
	Name        api.Optional[string]            `json:"name"`
	Description api.Optional[string]            `json:"description"`
	Force       any                             `json:"force"`
	Metadata    api.Optional[map[string]string] `json:"metadata"`
}

func (in snapshotInput) check() error {
	if len(in.Name.Value) > 255 {
		return tooLong("name", in.Name.Value)
	}
	return checkMetadata(in.Metadata.Value)
}

func (s *service) createSnapshot(c *api.Call) error {
	var in snapshotInput
	if err := c.DecodeIn("snapshot", &in); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	force, err := flag("force", orFalse(in.Force))
	if err != nil {
		return err
	}
	if c.Version.AtLeast(3, 66) { // snapshots of volumes in use need no force any more
		if in.Force != nil && !force {
			return api.BadRequest("Invalid input for field/attribute force. Value: false. The force flag is always true since microversion 3.66.")
		}
		force = true
	}
	return c.Update(func(tx *store.Tx) error {
		v, err := Get(tx, s.env.Model, c.Principal, in.VolumeID)
		if err != nil {
			return err
		}
		if v.Status != model.VolumeAvailable && (v.Status != model.VolumeInUse || !force) {
			return api.BadRequest("Invalid volume: Volume %s status must be available, but current status is: %s.", v.ID, v.Status)
		}
		if err := (ledger{s.env, v.ProjectID}).snapshot(tx, v); err != nil {
			return err
		}
		now := s.env.Timing.Now()
		snapshot := model.Snapshot{ID: model.NewID(), Name: in.Name.Value, Description: in.Description.Value, VolumeID: v.ID,
			ProjectID: v.ProjectID, UserID: c.Principal.UserID(), Status: model.VolumeCreating, Size: v.Size,
			Metadata: in.Metadata.Value, CreatedAt: now, UpdatedAt: now, Work: s.env.Timing.Start(endCreate, time.Second)}
		s.model.Snapshots.Put(tx, snapshot)
		return replySnapshot(c, http.StatusAccepted, snapshot)
	})
}

func (s *service) updateSnapshot(c *api.Call) error {
	var in snapshotInput
	if err := c.DecodeIn("snapshot", &in); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		v, err := s.snapshot(c, tx)
		if err != nil {
			return err
		}
		in.Name.Apply(&v.Name)
		in.Description.Apply(&v.Description)
		in.Metadata.Apply(&v.Metadata)
		v.UpdatedAt = s.env.Timing.Now()
		s.model.Snapshots.Put(tx, v)
		return replySnapshot(c, http.StatusOK, v)
	})
}

func (s *service) removeSnapshot(tx *store.Tx, id string) {
	s.model.Snapshots.Change(tx, id, func(v *model.Snapshot) {
		v.Status, v.Work, v.UpdatedAt = model.VolumeDeleting, s.env.Timing.Start(endDelete, time.Second), s.env.Timing.Now()
	})
}

func (s *service) deleteSnapshot(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		v, err := s.snapshot(c, tx)
		if err != nil {
			return err
		}
		switch v.Status {
		case model.VolumeAvailable, model.VolumeError, "error_deleting":
		default:
			return api.BadRequest("Invalid snapshot: Snapshot status must be available or error or error_deleting, and must not be part of a group.")
		}
		s.removeSnapshot(tx, v.ID)
		return c.Reply(http.StatusAccepted, nil)
	})
}

func (s *service) actOnSnapshot(c *api.Call) error {
	var body map[string]json.RawMessage
	if err := c.Decode(&body); err != nil {
		return err
	}
	name := anyKey(body)
	if name != "os-reset_status" && name != "os-update_snapshot_status" && name != "os-force_delete" {
		return api.BadRequest("There is no such action: %s", name)
	}
	if !c.Principal.Admin() {
		return api.Forbidden("Policy doesn't allow snapshot_extension:snapshot_actions:%s to be performed.", name)
	}
	return c.Update(func(tx *store.Tx) error {
		v, err := s.snapshot(c, tx)
		if err != nil {
			return err
		}
		if name == "os-force_delete" {
			s.removeSnapshot(tx, v.ID)
			return c.Reply(http.StatusAccepted, nil)
		}
		status, err := statusOf(body[name], "creating", "available", "deleting", "error", "error_deleting")
		if err != nil {
			return err
		}
		s.model.Snapshots.Change(tx, v.ID, func(v *model.Snapshot) { v.Status, v.Work = status, nil })
		return c.Reply(http.StatusAccepted, nil)
	})
}

// statusOf reads the status that an administrator sets.
func statusOf(text json.RawMessage, known ...string) (string, error) {
	var in struct {
		Status string `json:"status"`
	}
	if err := arguments(text, &in); err != nil {
		return "", err
	}
	for _, status := range known {
		if status == in.Status {
			return status, nil
		}
	}
	return "", api.BadRequest("Invalid input for field/attribute status. Value: %s. '%s' is not one of ['%s']",
		in.Status, in.Status, strings.Join(known, "', '"))
}

// workSnapshot ends operations on snapshots.
func (s *service) workSnapshot(ctx context.Context, id string) (time.Duration, error) {
	return work[model.Snapshot]{
		service: s, table: s.model.Snapshots, pending: func(v model.Snapshot) job { return job{v.Work, v.ProjectID, "VOLUME_SNAPSHOT"} },
		create: func(v model.Snapshot) error { return s.env.Host.Volumes().CreateSnapshot(ctx, v.ID, v.VolumeID) },
		remove: func(v model.Snapshot) error { return s.env.Host.Volumes().DeleteSnapshot(ctx, v.ID) },
		end: func(v *model.Snapshot, status string, made bool) {
			v.Status, v.Made, v.Work, v.UpdatedAt = status, made, nil, s.env.Timing.Now()
		},
	}.do(ctx, id)
}
