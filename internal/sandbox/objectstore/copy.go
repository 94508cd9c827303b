package objectstore

import (
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
)

// copyPath reads the other end of a copy, "/container/object" in percent
// encoding.
func copyPath(value, account, project string) (place, error) {
	text, err := url.PathUnescape(value)
	container, object, ok := strings.Cut(strings.TrimPrefix(text, "/"), "/")
	if err != nil || !ok || container == "" || object == "" {
		return place{}, api.Errorf(http.StatusPreconditionFailed, "", "X-Copy-From and Destination must be of the form /<container name>/<object name>")
	}
	if account != "" {
		project = strings.TrimPrefix(account, accountPrefix)
	}
	return place{project, container, object}, nil
}

func (s *service) copyObject(c *api.Call, p place) error {
	target, err := copyPath(c.Request.Header.Get("Destination"), c.Request.Header.Get("Destination-Account"), p.project)
	if err != nil {
		return err
	}
	if err := s.writable(c, target); err != nil {
		return err
	}
	return s.copyTo(c, p, target)
}

// copyTo copies bytes and metadata; what the request says comes on top, or
// alone with X-Fresh-Metadata. A large object is copied as a whole one,
// unless its manifest is asked for.
func (s *service) copyTo(c *api.Call, from, to place) error {
	source, err := s.look(c, from, c.Query("version-id"))
	if err != nil {
		return err
	}
	o, err := s.newObject(c.Request.Header, to)
	if err != nil {
		return err
	}
	if c.Request.Header.Get("Content-Type") == "" {
		o.Type = source.Type
	}
	if !isTrue(c.Request.Header.Get("X-Fresh-Metadata")) {
		o.Meta, o.Headers = over(source.Meta, o.Meta), over(source.Headers, o.Headers)
		if o.DeleteAt == 0 {
			o.DeleteAt = source.DeleteAt
		}
	}
	if source.Segments != nil && c.Query("multipart-manifest") == "get" {
		o.Segments, o.Size, o.ETag = source.Segments, source.Size, source.ETag
	} else if err := s.duplicate(source, &o); err != nil {
		return err
	}
	h := c.Writer.Header()
	h.Set("X-Copied-From", url.PathEscape(from.container)+"/"+url.PathEscape(from.object))
	h.Set("X-Copied-From-Account", accountPrefix+from.project)
	h.Set("X-Copied-From-Last-Modified", httpTime(source.Modified).Format(http.TimeFormat))
	return s.created(c, to, o)
}

func over(below, above map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, below)
	maps.Copy(all, above)
	return all
}

func (s *service) duplicate(source content, o *model.Object) error {
	reader := &joined{files: s.files, parts: source.parts, size: source.bytes}
	defer reader.close()
	return s.receive(reader, o, "")
}
