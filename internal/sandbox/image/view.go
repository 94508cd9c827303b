package image

import (
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/model"
)

// view is an image as clients see it, without its own properties, which
// render adds beside the attributes.
type view struct {
	ID              string   `json:"id"`
	Name            *string  `json:"name"`
	Owner           *string  `json:"owner"`
	Status          string   `json:"status"`
	Visibility      string   `json:"visibility"`
	ContainerFormat *string  `json:"container_format"`
	DiskFormat      *string  `json:"disk_format"`
	MinDisk         int      `json:"min_disk"`
	MinRAM          int      `json:"min_ram"`
	Protected       bool     `json:"protected"`
	Hidden          bool     `json:"os_hidden"`
	Tags            []string `json:"tags"`
	Size            *int64   `json:"size"`
	VirtualSize     *int64   `json:"virtual_size"`
	Checksum        *string  `json:"checksum"`
	HashAlgo        *string  `json:"os_hash_algo"`
	HashValue       *string  `json:"os_hash_value"`
	CreatedAt       string   `json:"created_at"`
	UpdatedAt       string   `json:"updated_at"`
	Self            string   `json:"self"`
	File            string   `json:"file"`
	Schema          string   `json:"schema"`
	properties      map[string]string
	created         time.Time
	updated         time.Time
}

func newView(v model.Image) view {
	path := "/v2/images/" + v.ID
	return view{ID: v.ID, Name: orNull(v.Name), Owner: orNull(v.ProjectID), Status: v.Status, Visibility: v.Visibility,
		ContainerFormat: orNull(v.ContainerFormat), DiskFormat: orNull(v.DiskFormat), MinDisk: v.MinDisk, MinRAM: v.MinRAM,
		Protected: v.Protected, Hidden: v.Hidden, Tags: append([]string{}, v.Tags...), Size: v.Size, VirtualSize: v.VirtualSize,
		Checksum: orNull(v.Checksum), HashAlgo: orNull(v.HashAlgo), HashValue: orNull(v.HashValue),
		CreatedAt: stamp(v.CreatedAt), UpdatedAt: stamp(v.UpdatedAt), Self: path, File: path + "/file",
		Schema: "/v2/schemas/image", properties: v.Properties, created: v.CreatedAt, updated: v.UpdatedAt}
}

func (v view) render() any {
	out := map[string]any{"id": v.ID, "name": v.Name, "owner": v.Owner, "status": v.Status, "visibility": v.Visibility,
		"container_format": v.ContainerFormat, "disk_format": v.DiskFormat, "min_disk": v.MinDisk, "min_ram": v.MinRAM,
		"protected": v.Protected, "os_hidden": v.Hidden, "tags": v.Tags, "size": v.Size, "virtual_size": v.VirtualSize,
		"checksum": v.Checksum, "os_hash_algo": v.HashAlgo, "os_hash_value": v.HashValue, "created_at": v.CreatedAt,
		"updated_at": v.UpdatedAt, "self": v.Self, "file": v.File, "schema": v.Schema}
	for name, value := range v.properties {
		out[name] = value
	}
	if v.Checksum != nil {
		out["stores"] = storeID
	}
	return out
}

// stamp is a time as Glance writes it: whole seconds in UTC.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
