package image

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// Get returns an image that the caller may see: a public or community one, its own, one that it is
// a member of, or any for an administrator. The error is 404.
func Get(r store.Reader, m *model.Model, p *api.Principal, id string) (model.Image, error) {
	v, ok := m.Image.Images.Get(r, id)
	if !ok || !visible(r, m, p, v) {
		return model.Image{}, api.NotFound("No image found with ID %s", id)
	}
	return v, nil
}

// visible reports whether the caller may see an image whose id it knows.
func visible(r store.Reader, m *model.Model, p *api.Principal, v model.Image) bool {
	if p.Owns(v.ProjectID) || v.Visibility == "public" || v.Visibility == "community" {
		return true
	}
	if v.Visibility != "shared" || p == nil {
		return false
	}
	_, member := m.Image.Members.Get(r, model.ImageMemberID(v.ID, p.ProjectID))
	return member
}

// File is the path of the bytes of an image. It exists while the image is
// active or deactivated, and while something holds it.
func File(env *api.Env, id string) string { return filepath.Join(env.Dir, "image", id) }

// Hold keeps the bytes of an active image while the holder, a server or volume that is being
// created from them, reads them: until Release, the image cannot be deleted (409). A holder holds
// one image. The error is 409 when the image is not active.
func Hold(tx *store.Tx, m *model.Model, imageID, holder string) error {
	v, ok := m.Image.Images.Get(tx, imageID)
	if !ok {
		return api.NotFound("No image found with ID %s", imageID)
	}
	if v.Status != model.ImageActive {
		return api.Conflict("Image %s is not active.", imageID)
	}
	m.Image.Holds.Put(tx, model.ImageHold{Holder: holder, ImageID: imageID})
	return nil
}

// Release ends what Hold began; it does nothing if nothing is held.
func Release(tx *store.Tx, m *model.Model, holder string) { m.Image.Holds.Delete(tx, holder) }

// Create adds an image in status queued, such as the snapshot of a server or the copy of a volume,
// and returns it with its id and times. The caller sets its name, owner, formats and properties;
// visibility is private if empty. Write writes its bytes.
func Create(tx *store.Tx, env *api.Env, v model.Image) model.Image {
	if v.ID == "" {
		v.ID = model.NewID()
	}
	if v.Visibility == "" {
		v.Visibility = "private"
	}
	v.Status = model.ImageQueued
	v.CreatedAt = env.Timing.Now()
	v.UpdatedAt = v.CreatedAt
	env.Model.Image.Images.Put(tx, v)
	return v
}

// Write takes the bytes of a queued image from the reader and makes it active;
// it must be called outside of transactions. When reading fails or the context
// ends, the image is queued again and nothing is kept.
func Write(ctx context.Context, env *api.Env, id string, bytes io.Reader) error {
	s := &service{env: env, model: env.Model}
	if err := s.upload(ctx, id, bytes, model.ImageQueued); err != nil {
		return fmt.Errorf("writing image %s: %w", id, err)
	}
	return nil
}
