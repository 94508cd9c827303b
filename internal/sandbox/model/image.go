package model

import (
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// Statuses of an image.
const (
	ImageQueued      = "queued"
	ImageSaving      = "saving"
	ImageUploading   = "uploading"
	ImageImporting   = "importing"
	ImageActive      = "active"
	ImageDeactivated = "deactivated"
)

// Image is an image. Its bytes are in a file; see image.File.
type Image struct {
	ID              string `json:"id"`
	Name            string `json:"name"`
	ProjectID       string `json:"owner"`
	Status          string `json:"status"`
	Visibility      string `json:"visibility"`
	ContainerFormat string `json:"container_format"`
	DiskFormat      string `json:"disk_format"`
	// MinDisk is in GiB, MinRAM in MiB.
	MinDisk   int      `json:"min_disk"`
	MinRAM    int      `json:"min_ram"`
	Protected bool     `json:"protected"`
	Hidden    bool     `json:"os_hidden"`
	Tags      []string `json:"tags"`
	// Size and VirtualSize are in bytes; nil while there are none.
	Size        *int64 `json:"size"`
	VirtualSize *int64 `json:"virtual_size"`
	// Checksum is the MD5 of the bytes, HashValue their HashAlgo.
	Checksum   string            `json:"checksum,omitempty"`
	HashAlgo   string            `json:"os_hash_algo,omitempty"`
	HashValue  string            `json:"os_hash_value,omitempty"`
	CreatedAt  time.Time         `json:"created_at"`
	UpdatedAt  time.Time         `json:"updated_at"`
	Properties map[string]string `json:"properties,omitempty"`

	// Staged is the size of the bytes that wait for their import.
	Staged *int64 `json:"staged,omitempty"`
	// Import is the import under way, TaskID its task.
	Import *ImageImport `json:"import,omitempty"`
	// Writer is the upload that may write the bytes; another one has lost.
	Writer string `json:"writer,omitempty"`
}

// ImageImport is what an import was asked to do.
type ImageImport struct {
	Method string `json:"method"`
	URI    string `json:"uri,omitempty"`
	TaskID string `json:"task_id"`
}

// ImageMember is a project that a shared image was offered to.
type ImageMember struct {
	ImageID   string    `json:"image_id"`
	MemberID  string    `json:"member_id"`
	Status    string    `json:"status"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// ImageMemberID is the id of a member record.
func ImageMemberID(imageID, memberID string) string { return imageID + "/" + memberID }

// ImageHold says that something still reads the bytes of an image.
type ImageHold struct {
	// Holder is the id of the server or volume.
	Holder  string `json:"holder"`
	ImageID string `json:"image_id"`
}

// ImageTask is a task of Glance.
type ImageTask struct {
	ID        string         `json:"id"`
	Type      string         `json:"type"`
	Status    string         `json:"status"`
	ProjectID string         `json:"owner"`
	UserID    string         `json:"user_id"`
	ImageID   string         `json:"image_id"`
	RequestID string         `json:"request_id"`
	Message   string         `json:"message"`
	Input     map[string]any `json:"input"`
	Result    map[string]any `json:"result"`
	CreatedAt time.Time      `json:"created_at"`
	UpdatedAt time.Time      `json:"updated_at"`
	ExpiresAt *time.Time     `json:"expires_at"`
}

// Images is Glance's tables.
type Images struct {
	Images   *store.Table[Image]
	ImagesOf *store.Index[Image] // by project

	Members   *store.Table[ImageMember]
	MembersOf *store.Index[ImageMember] // by image

	Holds   *store.Table[ImageHold]
	HoldsOf *store.Index[ImageHold] // by image

	Tasks   *store.Table[ImageTask]
	TasksOf *store.Index[ImageTask] // by project
}

func newImages(s *store.Store) Images {
	var i Images
	i.Images = store.NewTable(s, "image.images", func(v Image) string { return v.ID })
	i.ImagesOf = i.Images.Index(func(v Image) string { return v.ProjectID })
	i.Members = store.NewTable(s, "image.members", func(v ImageMember) string { return ImageMemberID(v.ImageID, v.MemberID) })
	i.MembersOf = i.Members.Index(func(v ImageMember) string { return v.ImageID })
	i.Holds = store.NewTable(s, "image.holds", func(v ImageHold) string { return v.Holder })
	i.HoldsOf = i.Holds.Index(func(v ImageHold) string { return v.ImageID })
	i.Tasks = store.NewTable(s, "image.tasks", func(v ImageTask) string { return v.ID })
	i.TasksOf = i.Tasks.Index(func(v ImageTask) string { return v.ProjectID })
	return i
}
