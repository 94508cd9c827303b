package volume

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/image"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) setImageMetadata(c *api.Call, tx *store.Tx, v model.Volume, text json.RawMessage) error {
	var in struct {
		Metadata map[string]string `json:"metadata"`
	}
	if err := arguments(text, &in); err != nil {
		return err
	}
	if err := checkMetadata(in.Metadata); err != nil {
		return err
	}
	merged := maps.Clone(v.ImageMetadata)
	if merged == nil {
		merged = map[string]string{}
	}
	maps.Copy(merged, in.Metadata)
	s.model.Volumes.Change(tx, v.ID, func(v *model.Volume) { v.ImageMetadata = merged })
	return c.Reply(http.StatusOK, map[string]any{"metadata": merged})
}

func (s *service) unsetImageMetadata(c *api.Call, tx *store.Tx, v model.Volume, text json.RawMessage) error {
	var in struct {
		Key string `json:"key"`
	}
	if err := arguments(text, &in); err != nil {
		return err
	}
	if _, ok := v.ImageMetadata[in.Key]; !ok {
		return api.NotFound("Metadata item was not found")
	}
	s.model.Volumes.Change(tx, v.ID, func(v *model.Volume) { delete(v.ImageMetadata, in.Key) })
	return c.Reply(http.StatusOK, nil)
}

func (s *service) showImageMetadata(c *api.Call, _ *store.Tx, v model.Volume, _ json.RawMessage) error {
	metadata := map[string]string{}
	maps.Copy(metadata, v.ImageMetadata)
	return c.Reply(http.StatusOK, map[string]any{"metadata": metadata})
}

type uploadInput struct {
	Name       string `json:"image_name"`
	Disk       string `json:"disk_format"`
	Container  string `json:"container_format"`
	Force      any    `json:"force"`
	Visibility string `json:"visibility"`
	Protected  any    `json:"protected"`
}

func (in *uploadInput) complete(c *api.Call) error {
	if in.Name == "" {
		return api.BadRequest("Invalid input for field/attribute os-volume_upload_image. 'image_name' is a required property")
	}
	if in.Disk == "" {
		in.Disk = "raw"
	}
	if in.Container == "" {
		in.Container = "bare"
	}
	if in.Visibility == "" {
		in.Visibility = "private"
	}
	if in.Disk != "raw" {
		return api.BadRequest("Invalid input received: volumes are written to images of format raw only, not %s.", in.Disk)
	}
	if !slices.Contains([]string{"private", "public", "community", "shared"}, in.Visibility) {
		return api.BadRequest("Invalid input for field/attribute visibility. Value: %s.", in.Visibility)
	}
	if in.Visibility == "public" && !c.Principal.Admin() {
		return api.Forbidden("Policy doesn't allow volume_extension:volume_actions:upload_public to be performed.")
	}
	return nil
}

// uploadImage makes an image, whose bytes the reconciler then writes.
func (s *service) uploadImage(c *api.Call, tx *store.Tx, v model.Volume, text json.RawMessage) error {
	var in uploadInput
	if err := arguments(text, &in); err != nil {
		return err
	}
	if err := in.complete(c); err != nil {
		return err
	}
	force, err := flag("force", orFalse(in.Force))
	if err != nil {
		return err
	}
	if v.Status != model.VolumeAvailable && (v.Status != model.VolumeInUse || !force) {
		return api.BadRequest("Invalid volume: Volume %s status must be available or in-use.", v.ID)
	}
	properties := maps.Clone(v.ImageMetadata)
	for _, own := range []string{"image_id", "image_name", "container_format", "disk_format", "min_disk", "min_ram", "checksum", "size"} {
		delete(properties, own)
	}
	protected, _ := in.Protected.(bool)
	img := image.Create(tx, s.env, model.Image{Name: in.Name, ProjectID: c.Principal.ProjectID, Visibility: in.Visibility,
		ContainerFormat: in.Container, DiskFormat: in.Disk, MinDisk: v.Size, Protected: protected, Properties: properties})
	s.begin(tx, v.ID, model.VolumeUploading, endUpload, 3*time.Second, func(v *model.Volume) { v.Upload = img.ID })
	t, _ := s.model.Types.Get(tx, v.TypeID)
	return c.Reply(http.StatusAccepted, map[string]any{"os-volume_upload_image": map[string]any{
		"id": v.ID, "updated_at": stamp(v.UpdatedAt), "status": model.VolumeUploading, "display_description": v.Description,
		"size": v.Size, "volume_type": typeView(t, c), "image_id": img.ID, "container_format": in.Container,
		"disk_format": in.Disk, "image_name": in.Name, "visibility": in.Visibility, "protected": protected}})
}

func orFalse(value any) any {
	if value == nil {
		return false
	}
	return value
}

// reimage writes an image over a volume.
func (s *service) reimage(c *api.Call, tx *store.Tx, v model.Volume, text json.RawMessage) error {
	var in struct {
		Image    string `json:"image_id"`
		Reserved bool   `json:"reimage_reserved"`
	}
	if !c.Version.AtLeast(3, 68) {
		return api.BadRequest("There is no such action: os-reimage")
	}
	if err := arguments(text, &in); err != nil {
		return err
	}
	if v.Status != model.VolumeAvailable && v.Status != model.VolumeError && (v.Status != model.VolumeReserved || !in.Reserved) {
		return api.Conflict("Invalid volume: Volume status must be available or error%s to reimage, but the current status is %s.",
			map[bool]string{true: " or reserved"}[in.Reserved], v.Status)
	}
	b := builder{tx: tx, env: s.env, caller: c.Principal, spec: Spec{ImageID: in.Image, Size: v.Size}, volume: &v}
	if err := b.fromImage(); err != nil {
		return err
	}
	if err := image.Hold(tx, s.env.Model, in.Image, v.ID); err != nil {
		return fmt.Errorf("reimaging: %w", err)
	}
	before := v.Status
	if before == model.VolumeError {
		before = model.VolumeAvailable
	}
	s.begin(tx, v.ID, model.VolumeDownloading, endReimage, 3*time.Second, func(changed *model.Volume) {
		changed.ImageID, changed.ImageMetadata, changed.Bootable, changed.Before = v.ImageID, v.ImageMetadata, true, before
	})
	return nil
}
