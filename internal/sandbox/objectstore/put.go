package objectstore

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// maxObject is the greatest size of an object that is sent at once, in bytes.
const maxObject = 5 << 30

// objectHeaders are kept with an object as they are.
func objectHeaders() []string {
	return []string{"Content-Disposition", "Content-Encoding", "Content-Language", "Cache-Control", "Expires", "X-Robots-Tag"}
}

func (s *service) putObject(c *api.Call, p place) error {
	if err := s.writable(c, p); err != nil {
		return err
	}
	h := c.Request.Header
	if from := h.Get("X-Copy-From"); from != "" {
		source, err := copyPath(from, h.Get("X-Copy-From-Account"), p.project)
		if err != nil {
			return err
		}
		return s.copyTo(c, source, p)
	}
	o, err := s.newObject(h, p)
	if err != nil {
		return err
	}
	if c.Query("multipart-manifest") == "put" {
		return s.putManifest(c, p, o)
	}
	if err := s.receive(c.Request.Body, &o, h.Get("Etag")); err != nil {
		return err
	}
	return s.created(c, p, o)
}

// writable checks that the caller may write to the container, and that it is
// there, before any byte is taken.
func (s *service) writable(c *api.Call, p place) error {
	return c.View(func(r store.Reader) error {
		b, err := s.bucket(r, p)
		if !mayWrite(c, p, b) && !s.signed(c, r, p, b) {
			return refuse(c)
		}
		if err != nil {
			return err
		}
		if c.Request.Header.Get("If-None-Match") == "*" {
			if _, exists := s.current(r, p); exists {
				return api.Errorf(http.StatusPreconditionFailed, "", "A precondition for this request was not met.")
			}
		}
		return s.checkQuota(r, b, max(c.Request.ContentLength, 0))
	})
}

func (s *service) checkQuota(r store.Reader, b model.Bucket, more int64) error {
	count, bytes := int64(0), int64(0)
	if b.Meta["Quota-Bytes"] != "" || b.Meta["Quota-Count"] != "" {
		count, bytes = s.totals(r, b.Key())
	}
	over := func(name string, used int64) bool {
		limit, err := strconv.ParseInt(b.Meta[name], 10, 64)
		return err == nil && used > limit
	}
	if over("Quota-Bytes", bytes+more) || over("Quota-Count", count+1) {
		return api.Errorf(http.StatusRequestEntityTooLarge, "", "Upload exceeds quota.")
	}
	return nil
}

// newObject is an object with what the headers of a request say of it.
func (s *service) newObject(h http.Header, p place) (model.Object, error) {
	o := model.Object{ID: model.NewID(), Bucket: p.bucket(), Path: p.object, Modified: s.env.Timing.Now(), Latest: true}
	o.Type = h.Get("Content-Type")
	if o.Type == "" || isTrue(h.Get("X-Detect-Content-Type")) {
		o.Type = detectType(p.object)
	}
	if manifest := h.Get("X-Object-Manifest"); manifest != "" {
		container, prefix, ok := strings.Cut(strings.TrimPrefix(manifest, "/"), "/")
		if !ok || container == "" || prefix == "" || strings.ContainsAny(manifest, "?&") {
			return o, api.BadRequest("X-Object-Manifest must be in the format container/prefix")
		}
		o.Manifest = container + "/" + prefix
	}
	return o, s.describe(&o, h)
}

// describe takes metadata, kept headers and the time of deletion.
func (s *service) describe(o *model.Object, h http.Header) (err error) {
	o.Meta, o.Headers = metaOf(h, "X-Object-Meta-"), map[string]string{}
	for name, value := range o.Meta {
		if value == "" {
			delete(o.Meta, name)
		}
	}
	for _, name := range objectHeaders() {
		if value := h.Get(name); value != "" {
			o.Headers[name] = value
		}
	}
	if o.DeleteAt, err = s.deleteAt(h); err != nil {
		return err
	}
	return checkMeta(o.Meta)
}

func (s *service) deleteAt(h http.Header) (int64, error) {
	now := s.env.Timing.Now().Unix()
	if after := h.Get("X-Delete-After"); after != "" {
		seconds, err := strconv.ParseInt(after, 10, 64)
		if err != nil {
			return 0, api.BadRequest("Non-integer X-Delete-After")
		}
		if seconds <= 0 {
			return 0, api.BadRequest("X-Delete-After in past")
		}
		return now + seconds, nil
	}
	if at := h.Get("X-Delete-At"); at != "" {
		seconds, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			return 0, api.BadRequest("Non-integer X-Delete-At")
		}
		if seconds <= now {
			return 0, api.BadRequest("X-Delete-At in past")
		}
		return seconds, nil
	}
	return 0, nil
}

// receive takes the bytes of an object; etag is the MD5 that they are to
// have, if it is not empty.
func (s *service) receive(body io.Reader, o *model.Object, etag string) (err error) {
	o.Size, o.ETag, err = s.files.write(o.ID, body, maxObject)
	switch {
	case errors.Is(err, errTooLarge):
		return api.Errorf(http.StatusRequestEntityTooLarge, "", "Your request is too large.")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return api.Errorf(499, "", "The client was disconnected during the request.")
	case err != nil:
		return err
	}
	if etag = strings.ToLower(strings.Trim(etag, `"`)); etag != "" && etag != o.ETag {
		s.files.remove(o.ID)
		return api.Errorf(http.StatusUnprocessableEntity, "", "Unable to process the contained instructions: the ETag does not match.")
	}
	return nil
}

// created puts the object in its place and answers 201.
func (s *service) created(c *api.Call, p place, o model.Object) error {
	if err := s.commit(c, p, &o); err != nil {
		s.files.remove(o.ID)
		return err
	}
	h := c.Writer.Header()
	h.Set("Etag", shownETag(o))
	h.Set("Last-Modified", httpTime(o.Modified).Format(http.TimeFormat))
	h.Set("X-Timestamp", stamp(o.Modified))
	if o.VersionID != "" {
		h.Set("X-Object-Version-Id", o.VersionID)
	}
	return answer(c, http.StatusCreated)
}

// commit makes the object the latest of its name. What was there stays as a
// version if the container keeps them, and is removed otherwise.
func (s *service) commit(c *api.Call, p place, o *model.Object) error {
	var gone []string
	err := c.Update(func(tx *store.Tx) error {
		b, err := s.bucket(tx, p)
		if err != nil {
			return err
		}
		if _, exists := s.current(tx, p); exists && c.Request.Header.Get("If-None-Match") == "*" {
			return api.Errorf(http.StatusPreconditionFailed, "", "A precondition for this request was not met.")
		}
		if err := s.checkQuota(tx, b, s.storedSize(*o)); err != nil {
			return err
		}
		if b.Versioned {
			o.VersionID = stamp(o.Modified)
		}
		gone = s.supersede(tx, p, b.Versioned)
		s.model.Objects.Put(tx, *o)
		return nil
	})
	if err == nil {
		s.files.remove(gone...)
	}
	return err
}

// supersede makes the latest version of a name an older one, or removes it
// when it is no version; it returns the files to remove.
func (s *service) supersede(tx *store.Tx, p place, keep bool) (gone []string) {
	for old := range s.model.VersionsAt.Each(tx, p.at()) {
		switch {
		case !old.Latest:
		case keep || old.VersionID != "":
			s.model.Objects.Change(tx, old.ID, func(o *model.Object) { o.Latest = false })
		default:
			s.model.Objects.Delete(tx, old.ID)
			gone = append(gone, old.ID)
		}
	}
	return gone
}

// current is the object that a name leads to.
func (s *service) current(r store.Reader, p place) (model.Object, bool) {
	o, ok := s.model.Current.First(r, p.at())
	return o, ok && !s.expired(o)
}

// postObject replaces metadata and the kept headers; the type stays when none
// is sent.
func (s *service) postObject(c *api.Call, p place) error {
	err := c.Update(func(tx *store.Tx) error {
		b, err := s.bucket(tx, p)
		if !mayWrite(c, p, b) && !s.signed(c, tx, p, b) {
			return refuse(c)
		}
		if err != nil {
			return err
		}
		o, ok := s.current(tx, p)
		if !ok {
			return missing()
		}
		h := c.Request.Header
		if kind := h.Get("Content-Type"); kind != "" {
			o.Type = kind
		} else if isTrue(h.Get("X-Detect-Content-Type")) {
			o.Type = detectType(o.Path)
		}
		if err := s.describe(&o, h); err != nil {
			return err
		}
		o.Meta = maps.Clone(o.Meta)
		s.model.Objects.Put(tx, o)
		return nil
	})
	if err != nil {
		return err
	}
	return answer(c, http.StatusAccepted)
}
