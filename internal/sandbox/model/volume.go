package model

import (
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/transition"
)

// Statuses of a volume, a snapshot, a backup or an attachment.
const (
	VolumeCreating    = "creating"
	VolumeDownloading = "downloading"
	VolumeAvailable   = "available"
	VolumeReserved    = "reserved"
	VolumeAttaching   = "attaching"
	VolumeInUse       = "in-use"
	VolumeDetaching   = "detaching"
	VolumeDeleting    = "deleting"
	VolumeExtending   = "extending"
	VolumeUploading   = "uploading"
	VolumeRetyping    = "retyping"
	VolumeError       = "error"
)

// Volume is a block device. What differs between the record and the driver's
// device is found by Made: the reconciler makes the device so.
type Volume struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	ProjectID   string `json:"os-vol-tenant-attr:tenant_id"`
	UserID      string `json:"user_id"`
	Status      string `json:"status"`
	// Size is in GiB, as the API shows it.
	Size             int               `json:"size"`
	AvailabilityZone string            `json:"availability_zone"`
	TypeID           string            `json:"volume_type_id"`
	Host             string            `json:"os-vol-host-attr:host"`
	Metadata         map[string]string `json:"metadata"`
	ImageMetadata    map[string]string `json:"volume_image_metadata,omitempty"`
	SnapshotID       string            `json:"snapshot_id"`
	SourceID         string            `json:"source_volid"`
	BackupID         string            `json:"backup_id,omitempty"`
	ImageID          string            `json:"image_id,omitempty"`
	GroupID          string            `json:"group_id,omitempty"`
	MigrationStatus  string            `json:"migration_status,omitempty"`
	Bootable         bool              `json:"bootable"`
	Multiattach      bool              `json:"multiattach"`
	Encrypted        bool              `json:"encrypted"`
	ReadOnly         *bool             `json:"readonly,omitempty"`
	CreatedAt        time.Time         `json:"created_at"`
	UpdatedAt        time.Time         `json:"updated_at"`

	// Made says that the driver has the device; MadeGiB is its size in GiB.
	Made    bool `json:"made"`
	MadeGiB int  `json:"made_gib"`
	// Work is the operation under way; it ends when its time has come and
	// the driver has done its part.
	Work *transition.Pending `json:"work,omitempty"`
	// Before is the status to come back to after Work.
	Before string `json:"before,omitempty"`
	// Restore is the backup whose bytes are to be put on the device.
	Restore string `json:"restore,omitempty"`
	// Upload is the image that the bytes are to be written to.
	Upload string `json:"upload,omitempty"`
	// NewType is the type that a retype ends with, NewGiB the size that an
	// extension ends with, in GiB.
	NewType string `json:"retype,omitempty"`
	NewGiB  int    `json:"extend,omitempty"`
}

// Attachment connects a volume with a server, or reserves it for one.
type Attachment struct {
	ID        string `json:"id"`
	VolumeID  string `json:"volume_id"`
	ProjectID string `json:"project_id"`
	// ServerID is empty for a connection that is no server's.
	ServerID string `json:"instance"`
	// Status is reserved, attaching, attached or detaching.
	Status string `json:"status"`
	// Mode is rw or ro.
	Mode string `json:"attach_mode"`
	// Device is the path in the machine ("/dev/vdb").
	Device     string         `json:"device"`
	Host       string         `json:"host"`
	Connector  map[string]any `json:"connector,omitempty"`
	AttachedAt *time.Time     `json:"attached_at"`
	CreatedAt  time.Time      `json:"created_at"`
}

// Snapshot is a volume's content at one moment.
type Snapshot struct {
	ID          string              `json:"id"`
	Name        string              `json:"name"`
	Description string              `json:"description"`
	VolumeID    string              `json:"volume_id"`
	ProjectID   string              `json:"os-extended-snapshot-attributes:project_id"`
	UserID      string              `json:"user_id"`
	Status      string              `json:"status"`
	Size        int                 `json:"size"`
	Metadata    map[string]string   `json:"metadata"`
	CreatedAt   time.Time           `json:"created_at"`
	UpdatedAt   time.Time           `json:"updated_at"`
	Made        bool                `json:"made"`
	Work        *transition.Pending `json:"work,omitempty"`
}

// Backup is a copy of a volume that does not need the volume any more.
type Backup struct {
	ID               string              `json:"id"`
	Name             string              `json:"name"`
	Description      string              `json:"description"`
	VolumeID         string              `json:"volume_id"`
	SnapshotID       string              `json:"snapshot_id"`
	ProjectID        string              `json:"os-backup-project-attr:project_id"`
	UserID           string              `json:"user_id"`
	Status           string              `json:"status"`
	Size             int                 `json:"size"`
	Container        string              `json:"container"`
	AvailabilityZone string              `json:"availability_zone"`
	Incremental      bool                `json:"is_incremental"`
	ParentID         string              `json:"parent_id"`
	FailReason       string              `json:"fail_reason"`
	Metadata         map[string]string   `json:"metadata"`
	CreatedAt        time.Time           `json:"created_at"`
	UpdatedAt        time.Time           `json:"updated_at"`
	DataAt           time.Time           `json:"data_timestamp"`
	Made             bool                `json:"made"`
	Work             *transition.Pending `json:"work,omitempty"`
}
