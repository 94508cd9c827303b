package objectstore

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

const maxDeletes = 10_000

func (s *service) deleteObject(c *api.Call, p place) error {
	if c.Query("multipart-manifest") == "delete" {
		return s.deleteManifest(c, p)
	}
	if err := s.drop(c, p, c.Query("version-id")); err != nil {
		return err
	}
	return answer(c, http.StatusNoContent)
}

// drop removes an object or a version of one. In a container that keeps
// versions the name then leads to a marker.
func (s *service) drop(c *api.Call, p place, version string) error {
	var gone []string
	err := c.Update(func(tx *store.Tx) error {
		b, err := s.bucket(tx, p)
		if !mayWrite(c, p, b) && !s.signed(c, tx, p, b) {
			return refuse(c)
		}
		if err != nil {
			return err
		}
		if version != "" {
			gone, err = s.dropVersion(c, tx, p, version)
			return err
		}
		if _, ok := s.current(tx, p); !ok {
			return missing()
		}
		gone = s.supersede(tx, p, b.Versioned)
		if b.Versioned {
			marker := model.Object{ID: model.NewID(), Bucket: p.bucket(), Path: p.object, Modified: s.env.Timing.Now(),
				Type: "application/x-deleted;swift_versions_deleted=1", Latest: true, Marker: true}
			marker.VersionID = stamp(marker.Modified)
			s.model.Objects.Put(tx, marker)
			c.Writer.Header().Set("X-Object-Version-Id", marker.VersionID)
		}
		return nil
	})
	if err == nil {
		s.files.remove(gone...)
	}
	return err
}

// dropVersion removes one version for good. A name does not fall back to an
// older version when its latest one goes.
func (s *service) dropVersion(c *api.Call, tx *store.Tx, p place, version string) ([]string, error) {
	o, ok := s.version(tx, p, version)
	if !ok {
		return nil, missing()
	}
	s.model.Objects.Delete(tx, o.ID)
	c.Writer.Header().Set("X-Object-Version-Id", version)
	if latest, ok := s.current(tx, p); ok && latest.VersionID != "" {
		c.Writer.Header().Set("X-Object-Current-Version-Id", latest.VersionID)
	}
	return []string{o.ID}, nil
}

// outcome is what a bulk request came to.
type outcome struct {
	Deleted  int         `json:"Number Deleted"`
	Missing  int         `json:"Number Not Found"`
	Status   string      `json:"Response Status"`
	Body     string      `json:"Response Body"`
	Failures [][2]string `json:"Errors"`
}

func (o *outcome) count(path string, err error) {
	e, _ := err.(*api.Error)
	switch {
	case err == nil:
		o.Deleted++
	case e != nil && e.Status == http.StatusNotFound:
		o.Missing++
	case e != nil:
		o.Failures = append(o.Failures, [2]string{url.PathEscape(path), fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status))})
	default:
		o.Failures = append(o.Failures, [2]string{url.PathEscape(path), "500 Internal Error"})
	}
}

func (o *outcome) write(c *api.Call) error {
	o.Status = "200 OK"
	if len(o.Failures) > 0 {
		o.Status = "400 Bad Request"
	} else if o.Deleted == 0 && o.Missing == 0 {
		o.Status, o.Body = "400 Bad Request", "Invalid bulk delete."
	}
	if wantsJSON(c) {
		text, err := json.Marshal(o)
		if err != nil {
			return err
		}
		return writeBody(c, "application/json", text)
	}
	text := fmt.Sprintf("Number Deleted: %d\nNumber Not Found: %d\nResponse Body: %s\nResponse Status: %s\nErrors:\n", o.Deleted, o.Missing, o.Body, o.Status)
	for _, failure := range o.Failures {
		text += failure[0] + ", " + failure[1] + "\n"
	}
	return writeBody(c, "text/plain", []byte(text))
}

// bulkDelete removes what the lines of the body name: objects, and containers
// that are empty by then.
func (s *service) bulkDelete(c *api.Call, p place) error {
	if !owns(c, p, true) {
		return refuse(c)
	}
	text, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, maxDeletes*(maxObjectName+maxContainerName+2)))
	if err != nil {
		return api.Errorf(http.StatusRequestEntityTooLarge, "", "Maximum Bulk Deletes: %d per request", maxDeletes)
	}
	lines := strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' || r == '\r' })
	if len(lines) > maxDeletes {
		return api.Errorf(http.StatusRequestEntityTooLarge, "", "Maximum Bulk Deletes: %d per request", maxDeletes)
	}
	result := outcome{Failures: [][2]string{}}
	for _, line := range lines {
		if line = strings.TrimSpace(line); line != "" {
			path, err := url.PathUnescape(line)
			if err == nil {
				err = s.bulkDrop(c, p.project, path)
			}
			result.count(path, err)
		}
	}
	return result.write(c)
}

func (s *service) bulkDrop(c *api.Call, project, path string) error {
	container, object, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	target := place{project, container, object}
	if object == "" {
		return s.dropContainer(c, target)
	}
	return s.drop(c, target, "")
}

// deleteManifest removes a static large object with its parts.
func (s *service) deleteManifest(c *api.Call, p place) error {
	o, err := s.look(c, p, "")
	if err != nil {
		return err
	}
	if o.Segments == nil {
		return api.BadRequest("Not an SLO manifest")
	}
	result := outcome{Failures: [][2]string{}}
	for _, segment := range o.Segments {
		result.count(segment.Path, s.bulkDrop(c, p.project, segment.Path))
	}
	result.count("/"+p.container+"/"+p.object, s.drop(c, p, ""))
	return result.write(c)
}
