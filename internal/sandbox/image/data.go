package image

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) dataRoutes() []api.Route {
	return []api.Route{
		{Pattern: "PUT /v2/images/{id}/file", Role: api.Member, Handle: s.putFile},
		{Pattern: "GET /v2/images/{id}/file", Role: api.Reader, Handle: s.getFile},
		{Pattern: "PUT /v2/images/{id}/stage", Role: api.Member, Handle: s.stage},
		{Pattern: "POST /v2/images/{id}/import", Role: api.Member, Handle: s.startImport},
	}
}

func (s *service) putFile(c *api.Call) error {
	if err := s.admitBytes(c, "upload"); err != nil {
		return err
	}
	if err := s.upload(c.Context(), c.Path("id"), c.Request.Body, model.ImageQueued); err != nil {
		return err
	}
	return c.Reply(http.StatusNoContent, nil)
}

// admitBytes checks what can be checked before the bytes of a request are
// read.
func (s *service) admitBytes(c *api.Call, action string) error {
	media, _, _ := mime.ParseMediaType(c.Request.Header.Get("Content-Type"))
	if media != "application/octet-stream" {
		return api.Errorf(http.StatusUnsupportedMediaType, "", "Invalid content type %s", media)
	}
	return c.View(func(r store.Reader) error {
		v, err := s.own(c, r, action)
		if err != nil {
			return err
		}
		return s.room(r, v, max(c.Request.ContentLength, 0))
	})
}

// room refuses bytes that exceed the quota of the project, and those for which a fault rule says
// that the disk is full.
func (s *service) room(r store.Reader, v model.Image, size int64) error {
	if s.env.Faults.Hit(faultinject.DiskFull, "image", v.Name) {
		return api.Errorf(http.StatusRequestEntityTooLarge, "", "Image storage media is full: There is not enough disk space on the image storage media.")
	}
	const mib = 1 << 20
	var used int64
	for other := range s.model.Image.ImagesOf.Each(r, v.ProjectID) {
		if other.Size != nil && other.ID != v.ID {
			used += *other.Size
		}
	}
	return s.within(r, v.ProjectID, "image_size_total", int((used+mib-1)/mib), int((size+mib-1)/mib))
}

// upload takes the bytes of an image that has the status from, and makes it active. After any
// error, the image is queued again.
func (s *service) upload(ctx context.Context, id string, body io.Reader, from string) error {
	writer := model.NewID()
	err := s.env.Store.Update(func(tx *store.Tx) error { return s.claim(tx, id, writer, from) })
	if err != nil {
		return err
	}
	part := s.part(id, writer)
	found, err := receive(ctx, part, body)
	if err == nil {
		err = os.Rename(part, File(s.env, id))
	}
	if err == nil {
		err = s.env.Store.Update(func(tx *store.Tx) error { return s.finish(tx, id, writer, found) })
	}
	if err == nil {
		return nil
	}
	_ = os.Remove(part)
	s.giveUp(id, writer)
	return readable(err)
}

// readable distinguishes a client that broke off from a disk that failed.
func readable(err error) error {
	var path *os.PathError
	var link *os.LinkError
	var own *api.Error
	if errors.As(err, &path) || errors.As(err, &link) || errors.As(err, &own) {
		return err
	}
	return api.BadRequest("Error in store configuration or in the data that was sent: %v", err)
}

// claim lets one writer write an image.
func (s *service) claim(tx *store.Tx, id, writer, from string) error {
	v, ok := s.model.Image.Images.Get(tx, id)
	switch {
	case !ok:
		return api.NotFound("No image found with ID %s", id)
	case v.Status != from:
		return api.Conflict("Image status transition from %s to saving is not allowed", v.Status)
	case v.ContainerFormat == "" || v.DiskFormat == "":
		return api.BadRequest("Properties disk_format, container_format must be set prior to saving data.")
	}
	s.model.Image.Images.Change(tx, id, func(v *model.Image) {
		v.Writer, v.UpdatedAt = writer, s.env.Timing.Now()
		if v.Status != model.ImageImporting {
			v.Status = model.ImageSaving
		}
	})
	return nil
}

// finish makes an image active, if it still exists and is still this writer's.
func (s *service) finish(tx *store.Tx, id, writer string, found content) error {
	v, ok := s.model.Image.Images.Get(tx, id)
	if !ok || v.Writer != writer {
		return api.Errorf(http.StatusGone, "", "Image %s could not be found after upload. "+
			"The image may have been deleted during the upload.", id)
	}
	if err := s.room(tx, v, found.size); err != nil {
		return err
	}
	s.model.Image.Images.Change(tx, id, func(v *model.Image) {
		v.Status, v.Writer, v.Import, v.Staged = model.ImageActive, "", nil, nil
		v.Size, v.Checksum, v.HashAlgo, v.HashValue = &found.size, found.md5, "sha512", found.sha512
		v.VirtualSize = found.virtual(v.DiskFormat)
		v.UpdatedAt = s.env.Timing.Now()
		dropImportProperties(v)
	})
	return nil
}

// giveUp puts an image back in the queue, and removes its bytes: if the image is still this
// writer's, or was deleted meanwhile. The bytes of another writer stay.
func (s *service) giveUp(id, writer string) {
	gone := false
	_ = s.env.Store.Update(func(tx *store.Tx) error { // nothing more can be done about a store that fails
		v, ok := s.model.Image.Images.Get(tx, id)
		gone = !ok
		if ok && v.Writer == writer {
			gone = true
			s.model.Image.Images.Change(tx, id, func(v *model.Image) {
				v.Writer = ""
				if v.Status == model.ImageSaving {
					v.Status = model.ImageQueued
				}
			})
		}
		return nil
	})
	if gone {
		_ = os.Remove(File(s.env, id))
	}
}

func (s *service) getFile(c *api.Call) error {
	var v model.Image
	err := c.View(func(r store.Reader) (err error) {
		v, err = Get(r, s.model, c.Principal, c.Path("id"))
		return err
	})
	switch {
	case err != nil:
		return err
	case v.Status == model.ImageDeactivated && !c.Principal.Admin():
		return api.Forbidden("The requested image has been deactivated. Image data download is forbidden.")
	case v.Size == nil:
		return c.Reply(http.StatusNoContent, nil)
	}
	file, err := os.Open(File(s.env, v.ID))
	if err != nil {
		return api.NotFound("Image %s could not be found in any store", v.ID)
	}
	defer file.Close()
	header := c.Writer.Header()
	header.Set("Content-Type", "application/octet-stream")
	header.Set("Content-MD5", v.Checksum)
	http.ServeContent(c.Writer, c.Request, "", v.UpdatedAt, file)
	return nil
}
