package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

const glanceDirect, webDownload = "glance-direct", "web-download"

func importMethods() []string { return []string{glanceDirect, webDownload} }

// stage keeps bytes until their import.
func (s *service) stage(c *api.Call) error {
	if err := s.admitBytes(c, "stage"); err != nil {
		return err
	}
	id, writer := c.Path("id"), model.NewID()
	err := c.Update(func(tx *store.Tx) error {
		v, _ := s.model.Image.Images.Get(tx, id)
		if v.Status != model.ImageQueued {
			return api.Conflict("Image status transition from %s to uploading is not allowed", v.Status)
		}
		s.model.Image.Images.Change(tx, id, func(v *model.Image) { v.Status, v.Writer = model.ImageUploading, writer })
		return nil
	})
	if err != nil {
		return err
	}
	part := s.part(id, writer)
	found, err := receive(c.Context(), part, c.Request.Body)
	if err == nil {
		err = os.Rename(part, s.staged(id))
	}
	if err != nil {
		_ = os.Remove(part)
	}
	return errors.Join(err, c.Update(func(tx *store.Tx) error {
		s.model.Image.Images.Change(tx, id, func(v *model.Image) {
			v.Writer, v.UpdatedAt, v.Staged = "", s.env.Timing.Now(), &found.size
			if err != nil {
				v.Status, v.Staged = model.ImageQueued, nil
			}
		})
		return c.Reply(http.StatusNoContent, nil)
	}))
}

// importInput is the body of an import.
type importInput struct {
	Method *struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
	} `json:"method"`
	Stores []string `json:"stores"`
}

func (in importInput) check() error {
	switch {
	case in.Method == nil:
		return api.BadRequest("Import request requires a 'method' field.")
	case in.Method.Name == "":
		return api.BadRequest("Import request requires a 'name' field.")
	case !slices.Contains(importMethods(), in.Method.Name):
		return api.BadRequest("Unknown import method name '%s'.", in.Method.Name)
	case in.Method.Name == webDownload:
		at, err := url.Parse(in.Method.URI)
		if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
			return api.BadRequest("URI for web-download does not pass filtering: %s", in.Method.URI)
		}
	}
	for _, id := range in.Stores {
		if id != storeID {
			return api.Conflict("Store for image_id not found: %s", id)
		}
	}
	return nil
}

func (s *service) startImport(c *api.Call) error {
	var in importInput
	if err := c.Decode(&in); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		v, err := s.own(c, tx, "import")
		switch {
		case err != nil:
			return err
		case v.ContainerFormat == "":
			return api.BadRequest("'container_format' needs to be set before import")
		case v.DiskFormat == "":
			return api.BadRequest("'disk_format' needs to be set before import")
		case in.Method.Name == glanceDirect && (v.Status != model.ImageUploading || v.Staged == nil):
			return api.Conflict("Image needs to be staged before 'glance-direct' method can be used")
		case in.Method.Name == webDownload && v.Status != model.ImageQueued:
			return api.Conflict("Image needs to be in 'queued' state to use 'web-download' method")
		}
		input := map[string]any{"image_id": v.ID, "backend": []string{storeID}, "import_req": map[string]any{
			"method": map[string]string{"name": in.Method.Name, "uri": in.Method.URI}}}
		s.beginImport(tx, v.ID, in.Method.Name, in.Method.URI, s.newTask(tx, c, "api_image_import", v.ID, input))
		return c.Reply(http.StatusAccepted, nil)
	})
}

func (s *service) beginImport(tx *store.Tx, id, method, uri, task string) {
	s.model.Image.Images.Change(tx, id, func(v *model.Image) {
		v.Status, v.Import, v.UpdatedAt = model.ImageImporting, &model.ImageImport{Method: method, URI: uri, TaskID: task}, s.env.Timing.Now()
		dropImportProperties(v)
		if v.Properties == nil {
			v.Properties = map[string]string{}
		}
		v.Properties["os_glance_import_task"] = task
		v.Properties["os_glance_importing_to_stores"] = storeID
		v.Properties["os_glance_failed_import"] = ""
	})
}

func dropImportProperties(v *model.Image) {
	for _, name := range []string{"os_glance_import_task", "os_glance_importing_to_stores", "os_glance_failed_import"} {
		delete(v.Properties, name)
	}
}

// doImport is the work of the reconciler: it does the import of an image in status importing, and
// ends its task.
func (s *service) doImport(ctx context.Context, id string) (time.Duration, error) {
	var v model.Image
	_ = s.env.Store.View(func(r store.Reader) error { // never fails
		v, _ = s.model.Image.Images.Get(r, id)
		return nil
	})
	if v.Status != model.ImageImporting || v.Import == nil {
		return 0, nil
	}
	_ = s.env.Store.Update(func(tx *store.Tx) error { s.setTask(tx, v.Import.TaskID, "processing", ""); return nil })
	err := s.bring(ctx, v)
	if ctx.Err() != nil {
		return 0, ctx.Err() // begun anew by the next process
	}
	_ = os.Remove(s.staged(id))
	return 0, s.env.Store.Update(func(tx *store.Tx) error {
		if err == nil {
			s.setTask(tx, v.Import.TaskID, "success", "")
			return nil
		}
		s.setTask(tx, v.Import.TaskID, "failure", err.Error())
		s.model.Image.Images.Change(tx, id, func(v *model.Image) {
			dropImportProperties(v)
			v.Status, v.Import, v.Staged, v.Writer = model.ImageQueued, nil, nil, ""
			v.Properties["os_glance_failed_import"] = storeID
			v.UpdatedAt = s.env.Timing.Now()
		})
		return nil
	})
}

// bring opens the source of an import and uploads it.
func (s *service) bring(ctx context.Context, v model.Image) error {
	var source io.ReadCloser
	var err error
	if v.Import.Method == glanceDirect {
		source, err = os.Open(s.staged(v.ID))
	} else {
		source, err = fetch(ctx, v.Import.URI)
	}
	if err != nil {
		return err
	}
	defer source.Close()
	if err := s.upload(ctx, v.ID, source, model.ImageImporting); err != nil {
		return fmt.Errorf("importing: %w", err)
	}
	return nil
}
