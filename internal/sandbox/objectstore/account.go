package objectstore

import (
	"net/http"
	"strconv"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// totals counts the objects of a container and their bytes.
func (s *service) totals(r store.Reader, bucket string) (count, bytes int64) {
	for o := range s.model.In.Each(r, bucket) {
		if !s.expired(o) {
			count++
			bytes += s.storedSize(o)
		}
	}
	return count, bytes
}

// storedSize is what an object counts for in sums: a large one for nothing,
// because its parts count themselves.
func (s *service) storedSize(o model.Object) int64 {
	if o.Segments != nil || o.Manifest != "" {
		return 0
	}
	return o.Size
}

func (s *service) accountHeaders(r store.Reader, h http.Header, p place) {
	account, ok := s.model.Accounts.Get(r, p.project)
	if !ok {
		account.Created = s.env.Timing.Now()
	}
	var containers, objects, bytes int64
	for b := range s.model.BucketsOf.Each(r, p.project) {
		count, size := s.totals(r, b.Key())
		containers, objects, bytes = containers+1, objects+count, bytes+size
	}
	h.Set("X-Account-Container-Count", strconv.FormatInt(containers, 10))
	h.Set("X-Account-Object-Count", strconv.FormatInt(objects, 10))
	h.Set("X-Account-Bytes-Used", strconv.FormatInt(bytes, 10))
	h.Set("X-Timestamp", stamp(account.Created))
	h.Set("Accept-Ranges", "bytes")
	writeMeta(h, "X-Account-Meta-", account.Meta)
}

func (s *service) headAccount(c *api.Call, p place) error {
	if !owns(c, p, false) {
		return refuse(c)
	}
	return c.View(func(r store.Reader) error {
		s.accountHeaders(r, c.Writer.Header(), p)
		return answer(c, http.StatusNoContent)
	})
}

func (s *service) postAccount(c *api.Call, p place) error {
	if !owns(c, p, true) {
		return refuse(c)
	}
	err := c.Update(func(tx *store.Tx) (err error) {
		account, ok := s.model.Accounts.Get(tx, p.project)
		if !ok {
			account = model.ObjectAccount{ProjectID: p.project, Created: s.env.Timing.Now()}
		}
		if account.Meta, err = merge(account.Meta, c.Request.Header, "Account"); err != nil {
			return err
		}
		s.model.Accounts.Put(tx, account)
		return nil
	})
	if err != nil {
		return err
	}
	return answer(c, http.StatusNoContent)
}

// bucketEntry is a container in a listing.
type bucketEntry struct {
	Name     string `json:"name"`
	Count    int64  `json:"count"`
	Bytes    int64  `json:"bytes"`
	Modified string `json:"last_modified"`
}

func (s *service) listContainers(c *api.Call, p place) error {
	if !owns(c, p, false) {
		return refuse(c)
	}
	options, err := readListing(c)
	if err != nil {
		return err
	}
	var entries []entry
	err = c.View(func(r store.Reader) error {
		s.accountHeaders(r, c.Writer.Header(), p)
		for b := range s.model.BucketsOf.Each(r, p.project) {
			entries = append(entries, entry{name: b.Container, render: func() any {
				count, bytes := s.totals(r, b.Key())
				return bucketEntry{b.Container, count, bytes, listStamp(b.Modified)}
			}})
		}
		entries = options.cut(entries)
		for i := range entries {
			entries[i].value = entries[i].rendered()
		}
		return nil
	})
	if err != nil {
		return err
	}
	return writeListing(c, entries)
}

func listStamp(t time.Time) string { return t.UTC().Format(listTime) }
