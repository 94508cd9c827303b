package objectstore

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// content is an object ready to be read.
type content struct {
	model.Object
	parts []part
	bytes int64
	etag  string // as it is shown
}

// look finds an object, or the version of it that the query names, for a
// caller who may read it.
func (s *service) look(c *api.Call, p place, version string) (found content, err error) {
	err = c.View(func(r store.Reader) error {
		b, err := s.bucket(r, p)
		if !mayRead(c, p, b, false) && !s.signed(c, r, p, b) {
			return refuse(c)
		}
		if err != nil {
			return err
		}
		o, ok := s.current(r, p)
		if version != "" {
			o, ok = s.version(r, p, version)
		}
		if !ok || o.Marker {
			return missing()
		}
		found = content{Object: o, etag: shownETag(o)}
		if found.parts, err = s.resolve(r, p.project, o, 0); err != nil {
			return err
		}
		found.bytes = length(found.parts)
		if o.Manifest != "" {
			found.etag = strconv.Quote(s.dynamicETag(r, p.project, o))
		}
		return nil
	})
	return found, err
}

func (s *service) version(r store.Reader, p place, id string) (model.Object, bool) {
	for o := range s.model.VersionsAt.Each(r, p.at()) {
		if o.VersionID == id || id == "null" && o.VersionID == "" {
			return o, !s.expired(o)
		}
	}
	return model.Object{}, false
}

// shownETag is in quotes for large objects, whose is no MD5 of their bytes.
func shownETag(o model.Object) string {
	if o.Segments != nil {
		return strconv.Quote(o.ETag)
	}
	return o.ETag
}

func (s *service) getObject(c *api.Call, p place) error {
	o, err := s.look(c, p, c.Query("version-id"))
	if err != nil {
		return err
	}
	if o.Segments != nil && c.Query("multipart-manifest") == "get" {
		return s.getManifest(c, o.Object)
	}
	reader := &joined{files: s.files, parts: o.parts, size: o.bytes}
	defer reader.close()
	if err := reader.check(); err != nil {
		return missing() // it was removed since it was looked up
	}
	s.contentHeaders(c, p, o)
	request := c.Request.Clone(c.Context())
	for _, name := range []string{"If-Match", "If-None-Match", "If-Range"} {
		if value := request.Header.Get(name); value != "" && (name != "If-Range" || hexadecimal(value)) {
			request.Header.Set(name, quoted(value))
		}
	}
	c.Writer.Header().Set("Etag", strconv.Quote(strings.Trim(o.etag, `"`)))
	http.ServeContent(&plainETag{c.Writer, o.etag}, request, "", httpTime(o.Modified), reader)
	return nil
}

func (s *service) contentHeaders(c *api.Call, p place, o content) {
	h := c.Writer.Header()
	h.Set("Content-Type", o.Type)
	h.Set("X-Timestamp", stamp(o.Modified))
	for name, value := range o.Headers {
		h.Set(name, value)
	}
	writeMeta(h, "X-Object-Meta-", o.Meta)
	if o.DeleteAt > 0 {
		h.Set("X-Delete-At", strconv.FormatInt(o.DeleteAt, 10))
	}
	if o.Segments != nil {
		h.Set("X-Static-Large-Object", "True")
	}
	if o.Manifest != "" {
		h.Set("X-Object-Manifest", o.Manifest)
	}
	if o.VersionID != "" {
		h.Set("X-Object-Version-Id", o.VersionID)
	}
	if o.Headers["Content-Encoding"] != "" && c.Request.Header.Get("Range") == "" {
		h.Set("Content-Length", strconv.FormatInt(o.bytes, 10)) // ServeContent leaves it out then
	}
	s.signedHeaders(c, p)
}

func hexadecimal(value string) bool {
	return regexp.MustCompile(`^"?[0-9a-fA-F]{32}"?$`).MatchString(value)
}

// quoted puts every tag of a list in quotes, as HTTP has them and Swift's
// clients do not.
func quoted(list string) string {
	if strings.TrimSpace(list) == "*" {
		return "*"
	}
	tags := strings.Split(list, ",")
	for i, tag := range tags {
		tags[i] = strconv.Quote(strings.Trim(strings.TrimSpace(tag), `"`))
	}
	return strings.Join(tags, ", ")
}

// plainETag writes the tag without quotes, as Swift does.
type plainETag struct {
	http.ResponseWriter
	etag string
}

func (w *plainETag) WriteHeader(status int) {
	w.Header().Set("Etag", w.etag)
	w.ResponseWriter.WriteHeader(status)
}
