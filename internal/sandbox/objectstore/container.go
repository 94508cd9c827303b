package objectstore

import (
	"maps"
	"net/http"
	"strconv"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// keptHeaders are the headers of a container that are kept as they are.
func keptHeaders() []string {
	return []string{"X-Container-Read", "X-Container-Write", "X-Container-Sync-To", "X-Container-Sync-Key",
		"X-Versions-Location", "X-History-Location"}
}

func (s *service) bucket(r store.Reader, p place) (model.Bucket, error) {
	b, ok := s.model.Buckets.Get(r, p.bucket())
	if !ok {
		return b, missing()
	}
	return b, nil
}

func (s *service) containerHeaders(c *api.Call, r store.Reader, p place, b model.Bucket) {
	h := c.Writer.Header()
	count, bytes := s.totals(r, b.Key())
	h.Set("X-Container-Object-Count", strconv.FormatInt(count, 10))
	h.Set("X-Container-Bytes-Used", strconv.FormatInt(bytes, 10))
	h.Set("X-Timestamp", stamp(b.Created))
	h.Set("Last-Modified", httpTime(b.Modified).Format(http.TimeFormat))
	h.Set("X-Storage-Policy", "Policy-0")
	h.Set("Accept-Ranges", "bytes")
	owner := owns(c, p, true)
	for name, value := range b.Headers {
		if owner || name == "X-Versions-Location" || name == "X-History-Location" {
			h.Set(name, value)
		}
	}
	if b.Versioned {
		h.Set("X-Versions-Enabled", "True")
	}
	for name, value := range b.Meta {
		if owner || (name != "Temp-Url-Key" && name != "Temp-Url-Key-2") {
			h.Set("X-Container-Meta-"+name, value)
		}
	}
}

func (s *service) headContainer(c *api.Call, p place) error {
	return c.View(func(r store.Reader) error {
		b, err := s.readable(c, r, p, true)
		if err != nil {
			return err
		}
		s.containerHeaders(c, r, p, b)
		return answer(c, http.StatusNoContent)
	})
}

// readable finds a container that the caller may read. A stranger is not told
// whether there is one.
func (s *service) readable(c *api.Call, r store.Reader, p place, listing bool) (model.Bucket, error) {
	b, err := s.bucket(r, p)
	if !mayRead(c, p, b, listing) {
		return b, refuse(c)
	}
	return b, err
}

func (s *service) putContainer(c *api.Call, p place) error {
	if !owns(c, p, true) {
		return refuse(c)
	}
	status := http.StatusAccepted
	err := c.Update(func(tx *store.Tx) error {
		b, err := s.bucket(tx, p)
		if err != nil {
			status = http.StatusCreated
			b = model.Bucket{ProjectID: p.project, Container: p.container, Created: s.env.Timing.Now()}
			if _, ok := s.model.Accounts.Get(tx, p.project); !ok {
				s.model.Accounts.Put(tx, model.ObjectAccount{ProjectID: p.project, Created: b.Created})
			}
		}
		return s.editBucket(tx, c.Request.Header, b)
	})
	if err != nil {
		return err
	}
	return answer(c, status)
}

func (s *service) postContainer(c *api.Call, p place) error {
	if !owns(c, p, true) {
		return refuse(c)
	}
	err := c.Update(func(tx *store.Tx) error {
		b, err := s.bucket(tx, p)
		if err != nil {
			return err
		}
		return s.editBucket(tx, c.Request.Header, b)
	})
	if err != nil {
		return err
	}
	return answer(c, http.StatusNoContent)
}

// editBucket applies a request's headers to a container.
func (s *service) editBucket(tx *store.Tx, h http.Header, b model.Bucket) (err error) {
	if b.Meta, err = merge(b.Meta, h, "Container"); err != nil {
		return err
	}
	headers := map[string]string{}
	maps.Copy(headers, b.Headers)
	for _, name := range keptHeaders() {
		values, sent := h[name]
		remove := h.Get("X-Remove-"+name[2:]) != ""
		switch {
		case remove || sent && values[0] == "":
			delete(headers, name)
		case sent:
			headers[name] = values[0]
		}
		if err := checkACL(name, headers[name]); err != nil && (name == "X-Container-Read" || name == "X-Container-Write") {
			return err
		}
	}
	for _, name := range []string{"Quota-Bytes", "Quota-Count"} {
		if value, ok := b.Meta[name]; ok {
			if n, err := strconv.ParseInt(value, 10, 64); err != nil || n < 0 {
				return api.BadRequest("Invalid value for X-Container-Meta-%s: %s", name, value)
			}
		}
	}
	if value := h.Get("X-Versions-Enabled"); value != "" {
		b.Versioned = isTrue(value)
	}
	b.Headers, b.Modified = headers, s.env.Timing.Now()
	s.model.Buckets.Put(tx, b)
	return nil
}

func (s *service) deleteContainer(c *api.Call, p place) error {
	if !owns(c, p, true) {
		return refuse(c)
	}
	if err := s.dropContainer(c, p); err != nil {
		return err
	}
	return answer(c, http.StatusNoContent)
}

func (s *service) dropContainer(c *api.Call, p place) error {
	if err := s.removeExpired(); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		b, err := s.bucket(tx, p)
		if err != nil {
			return err
		}
		if s.model.Versions.Count(tx, b.Key()) > 0 {
			return api.Conflict("There was a conflict when trying to complete your request: the container is not empty.")
		}
		s.model.Buckets.Delete(tx, b.Key())
		return nil
	})
}

// objectEntry is an object in a listing.
type objectEntry struct {
	Hash      string `json:"hash"`
	Modified  string `json:"last_modified"`
	Bytes     int64  `json:"bytes"`
	Name      string `json:"name"`
	Type      string `json:"content_type"`
	VersionID string `json:"version_id,omitempty"`
	Latest    *bool  `json:"is_latest,omitempty"`
	SLO       string `json:"slo_etag,omitempty"`
}

func newObjectEntry(o model.Object, versions bool) objectEntry {
	e := objectEntry{Hash: o.ETag, Modified: listStamp(o.Modified), Bytes: o.Size, Name: o.Path, Type: o.Type}
	if o.Segments != nil {
		e.SLO = strconv.Quote(o.ETag)
	}
	if versions {
		e.VersionID, e.Latest = o.VersionID, &o.Latest
		if e.VersionID == "" {
			e.VersionID = "null" // stored before there were versions
		}
	}
	return e
}

func (s *service) listObjects(c *api.Call, p place) error {
	options, err := readListing(c)
	if err != nil {
		return err
	}
	versions := c.Request.URL.Query().Has("versions")
	var entries []entry
	err = c.View(func(r store.Reader) error {
		b, err := s.readable(c, r, p, true)
		if err != nil {
			return err
		}
		s.containerHeaders(c, r, p, b)
		index := s.model.In
		if versions {
			index = s.model.Versions
		}
		for o := range index.Each(r, b.Key()) {
			if !s.expired(o) {
				entries = append(entries, entry{name: o.Path, order: o.VersionID, render: func() any { return newObjectEntry(o, versions) }})
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	entries = options.cut(entries)
	for i := range entries {
		entries[i].value = entries[i].rendered()
	}
	return writeListing(c, entries)
}
