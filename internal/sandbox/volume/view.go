package volume

import (
	"strconv"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// stamp is a time as Cinder writes it: UTC without saying so.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000") }

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// path is where the caller finds something of the service, with its project
// as in the catalog.
func path(c *api.Call, parts ...string) string {
	return "/v3/" + c.Principal.ProjectID + "/" + strings.Join(parts, "/")
}

func links(c *api.Call, parts ...string) []api.Link {
	return []api.Link{{Rel: "self", Href: c.URL(path(c, parts...))},
		{Rel: "bookmark", Href: c.URL("/" + c.Principal.ProjectID + "/" + strings.Join(parts, "/"))}}
}

// nextLinks is api.NextLinks with the path as the client wrote it.
func nextLinks(c *api.Call, p api.Page, key string, body map[string]any) {
	if !p.After {
		return
	}
	query := c.Request.URL.Query()
	query.Set("marker", p.Last)
	at, _, _ := strings.Cut(c.Request.RequestURI, "?")
	body[key+"_links"] = []api.Link{{Rel: "next", Href: c.Base() + at + "?" + query.Encode()}}
}

// view is a volume as clients see it.
type view struct {
	ID               string            `json:"id"`
	Name             *string           `json:"name"`
	Description      *string           `json:"description"`
	Status           string            `json:"status"`
	Size             int               `json:"size"`
	AvailabilityZone string            `json:"availability_zone"`
	Bootable         string            `json:"bootable"`
	Encrypted        bool              `json:"encrypted"`
	Multiattach      bool              `json:"multiattach"`
	Metadata         map[string]string `json:"metadata"`
	SnapshotID       *string           `json:"snapshot_id"`
	SourceID         *string           `json:"source_volid"`
	Type             *string           `json:"volume_type"`
	UserID           string            `json:"user_id"`
	CreatedAt        string            `json:"created_at"`
	UpdatedAt        string            `json:"updated_at"`
	ProjectID        string            `json:"os-vol-tenant-attr:tenant_id"`
	GroupID          *string           `json:"group_id"`
	ConsistencyGroup *string           `json:"consistencygroup_id"`
	Replication      *string           `json:"replication_status"`
	Migration        *string           `json:"migration_status"`
	Attachments      []attachedView    `json:"attachments"`
	Links            []api.Link        `json:"links"`
	record           model.Volume
}

// attachedView is an attachment in the view of its volume.
type attachedView struct {
	ID         string  `json:"id"`
	Attachment string  `json:"attachment_id"`
	VolumeID   string  `json:"volume_id"`
	ServerID   *string `json:"server_id"`
	Host       *string `json:"host_name"`
	Device     *string `json:"device"`
	AttachedAt *string `json:"attached_at"`
}

func (s *service) view(c *api.Call, r store.Reader, v model.Volume) view {
	kind, _ := s.model.Types.Get(r, v.TypeID)
	return view{ID: v.ID, Name: &v.Name, Description: orNull(v.Description), Status: v.Status, Size: v.Size,
		AvailabilityZone: v.AvailabilityZone, Bootable: strconv.FormatBool(v.Bootable), Encrypted: v.Encrypted,
		Multiattach: v.Multiattach, Metadata: s.shownMetadata(r, v), SnapshotID: orNull(v.SnapshotID),
		SourceID: orNull(v.SourceID), Type: orNull(kind.Name), UserID: v.UserID, CreatedAt: stamp(v.CreatedAt),
		UpdatedAt: stamp(v.UpdatedAt), ProjectID: v.ProjectID, GroupID: orNull(v.GroupID), Migration: orNull(v.MigrationStatus),
		Attachments: s.attached(c, r, v.ID), Links: links(c, "volumes", v.ID), record: v}
}

// shownMetadata is the metadata with what Cinder adds itself.
func (s *service) shownMetadata(r store.Reader, v model.Volume) map[string]string {
	metadata := map[string]string{}
	for name, value := range v.Metadata {
		metadata[name] = value
	}
	if v.ReadOnly != nil {
		metadata["readonly"] = pythonBool(*v.ReadOnly)
	}
	for a := range s.model.AttachmentsOf.Each(r, v.ID) {
		if a.Status == Attached && v.ReadOnly != nil {
			metadata["attached_mode"] = a.Mode
		}
	}
	return metadata
}

func pythonBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

func (s *service) attached(c *api.Call, r store.Reader, id string) []attachedView {
	list := []attachedView{}
	for a := range s.model.AttachmentsOf.Each(r, id) {
		if a.Status != Attached && a.Status != Detaching {
			continue
		}
		v := attachedView{ID: id, Attachment: a.ID, VolumeID: id, ServerID: orNull(a.ServerID), Device: orNull(a.Device)}
		if c.Principal.Admin() {
			v.Host = orNull(a.Host)
		}
		if a.AttachedAt != nil {
			v.AttachedAt = orNull(stamp(*a.AttachedAt))
		}
		list = append(list, v)
	}
	return list
}

// render adds to the view what depends on the microversion and the caller.
func (v view) render(c *api.Call) map[string]any {
	out := map[string]any{"id": v.ID, "name": v.Name, "description": v.Description, "status": v.Status, "size": v.Size,
		"availability_zone": v.AvailabilityZone, "bootable": v.Bootable, "encrypted": v.Encrypted, "multiattach": v.Multiattach,
		"metadata": v.Metadata, "snapshot_id": v.SnapshotID, "source_volid": v.SourceID, "volume_type": v.Type,
		"user_id": v.UserID, "created_at": v.CreatedAt, "updated_at": v.UpdatedAt, "consistencygroup_id": nil,
		"replication_status": nil, "attachments": v.Attachments, "links": v.Links, "os-vol-tenant-attr:tenant_id": v.ProjectID}
	if v.record.ImageMetadata != nil {
		out["volume_image_metadata"] = v.record.ImageMetadata
	}
	for minor, attribute := range map[int]string{13: "group_id", 48: "shared_targets", 63: "volume_type_id", 65: "consumes_quota"} {
		if c.Version.AtLeast(3, minor) {
			out[attribute] = map[string]any{"group_id": v.GroupID, "shared_targets": false,
				"volume_type_id": v.record.TypeID, "consumes_quota": true}[attribute]
		}
	}
	if c.Version.AtLeast(3, 48) {
		out["service_uuid"] = nil
	}
	if c.Principal.Admin() {
		v.renderAdmin(c, out)
	}
	return out
}

func (v view) renderAdmin(c *api.Call, out map[string]any) {
	out["os-vol-host-attr:host"] = orNull(v.record.Host)
	out["os-vol-mig-status-attr:migstat"], out["os-vol-mig-status-attr:name_id"] = v.Migration, nil
	out["migration_status"] = v.Migration
	if c.Version.AtLeast(3, 21) {
		out["provider_id"] = nil
	}
	if c.Version.AtLeast(3, 61) {
		out["cluster_name"] = nil
	}
}
