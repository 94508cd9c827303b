package model

import (
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// VolumeType is a kind of volumes.
type VolumeType struct {
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Public      bool              `json:"is_public"`
	ExtraSpecs  map[string]string `json:"extra_specs"`
	QoSID       string            `json:"qos_specs_id"`
	// Projects may use a type that is not public.
	Projects   []string          `json:"projects,omitempty"`
	Encryption *VolumeEncryption `json:"encryption,omitempty"`
}

// VolumeEncryption says how the volumes of a type are encrypted.
type VolumeEncryption struct {
	ID        string `json:"encryption_id"`
	Provider  string `json:"provider"`
	Cipher    string `json:"cipher"`
	KeySize   int    `json:"key_size"`
	Control   string `json:"control_location"`
	CreatedAt time.Time
}

// QoS is a named set of limits for volumes.
type QoS struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	Consumer string            `json:"consumer"`
	Specs    map[string]string `json:"specs"`
}

// VolumeTransfer offers a volume to another project. Hash is of the key.
type VolumeTransfer struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	VolumeID  string    `json:"volume_id"`
	ProjectID string    `json:"source_project_id"`
	Hash      string    `json:"hash"`
	CreatedAt time.Time `json:"created_at"`
}

// VolumeMessage tells a user why an operation went wrong.
type VolumeMessage struct {
	ID         string    `json:"id"`
	ProjectID  string    `json:"project_id"`
	EventID    string    `json:"event_id"`
	RequestID  string    `json:"request_id"`
	Resource   string    `json:"resource_type"`
	ResourceID string    `json:"resource_uuid"`
	Level      string    `json:"message_level"`
	Text       string    `json:"user_message"`
	CreatedAt  time.Time `json:"created_at"`
	ExpiresAt  time.Time `json:"guaranteed_until"`
}

// Volumes is Cinder's tables.
type Volumes struct {
	Volumes   *store.Table[Volume]
	VolumesOf *store.Index[Volume] // by project

	Attachments   *store.Table[Attachment]
	AttachmentsOf *store.Index[Attachment] // by volume
	AttachmentsOn *store.Index[Attachment] // by server

	Snapshots   *store.Table[Snapshot]
	SnapshotsOf *store.Index[Snapshot] // by project
	SnapshotsIn *store.Index[Snapshot] // by volume

	Backups   *store.Table[Backup]
	BackupsOf *store.Index[Backup] // by project

	Types     *store.Table[VolumeType]
	QoS       *store.Table[QoS]
	Transfers *store.Table[VolumeTransfer]
	Messages  *store.Table[VolumeMessage]
}

func newVolumes(s *store.Store) Volumes {
	var v Volumes
	v.Volumes = store.NewTable(s, "volume.volumes", func(r Volume) string { return r.ID })
	v.VolumesOf = v.Volumes.Index(func(r Volume) string { return r.ProjectID })
	v.Attachments = store.NewTable(s, "volume.attachments", func(r Attachment) string { return r.ID })
	v.AttachmentsOf = v.Attachments.Index(func(r Attachment) string { return r.VolumeID })
	v.AttachmentsOn = v.Attachments.Index(func(r Attachment) string { return r.ServerID })
	v.Snapshots = store.NewTable(s, "volume.snapshots", func(r Snapshot) string { return r.ID })
	v.SnapshotsOf = v.Snapshots.Index(func(r Snapshot) string { return r.ProjectID })
	v.SnapshotsIn = v.Snapshots.Index(func(r Snapshot) string { return r.VolumeID })
	v.Backups = store.NewTable(s, "volume.backups", func(r Backup) string { return r.ID })
	v.BackupsOf = v.Backups.Index(func(r Backup) string { return r.ProjectID })
	v.Types = store.NewTable(s, "volume.types", func(r VolumeType) string { return r.ID })
	v.QoS = store.NewTable(s, "volume.qos", func(r QoS) string { return r.ID })
	v.Transfers = store.NewTable(s, "volume.transfers", func(r VolumeTransfer) string { return r.ID })
	v.Messages = store.NewTable(s, "volume.messages", func(r VolumeMessage) string { return r.ID })
	return v
}
