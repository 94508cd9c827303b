package network

import (
	"encoding/json"
	"iter"
	"net/http"
	"reflect"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// resource is one kind of object: R as it is kept, V as it is shown.
type resource[R, V any] struct {
	core *Core
	// one and many are the keys in bodies ("network", "networks"); path is
	// below the service's ("/v2.0/networks").
	one, many, path string
	table           *store.Table[R]
	of              *store.Index[R]
	meta            func(*R) *model.NetworkMeta
	missing         func(id string) error
	// shared yields what a project sees of others; sees decides on one.
	shared func(r store.Reader, projectID string) iter.Seq[R]
	sees   func(r store.Reader, projectID string, record R) bool
	// narrow finds the records of a query through an index, if it can.
	narrow func(r store.Reader, c *api.Call) (iter.Seq[R], bool)
	view   func(r store.Reader, p *api.Principal, record R) V

	create func(tx *store.Tx, p *api.Principal, raw json.RawMessage) (R, error)
	update func(tx *store.Tx, p *api.Principal, old R, raw json.RawMessage) (R, error)
	remove func(tx *store.Tx, p *api.Principal, record R) error
	// prepare runs before every list, such as to make what is made lazily.
	prepare func(c *api.Call) error

	filters map[string]api.Filter[V]
	writers api.Role // who may write; Member if unset
	readers api.Role
	noTags  bool // the API has no tags for these resources
}

// find returns a record that the caller may see.
func (res resource[R, V]) find(r store.Reader, p *api.Principal, id string) (R, error) {
	record, ok := res.table.Get(r, id)
	if !ok || !res.visible(r, p, record) {
		var none R
		return none, res.missing(id)
	}
	return record, nil
}

func (res resource[R, V]) visible(r store.Reader, p *api.Principal, record R) bool {
	return owns(p, res.meta(&record).ProjectID) || (res.sees != nil && res.sees(r, p.ProjectID, record))
}

// change returns a record that the caller may change.
func (res resource[R, V]) change(r store.Reader, c *api.Call, verb string) (R, error) {
	record, err := res.find(r, c.Principal, c.Path("id"))
	if err != nil {
		return record, err
	}
	meta := res.meta(&record)
	if !owns(c.Principal, meta.ProjectID) {
		return record, disallowed("rule:" + verb + "_" + res.one)
	}
	return record, ifMatch(c, meta.Revision)
}

// routes are those of all operations that the resource has.
func (res resource[R, V]) routes() []api.Route {
	read, write, one := api.Reader, api.Member, res.path+"/{id}"
	if res.readers != 0 {
		read = res.readers
	}
	if res.writers != 0 {
		write = res.writers
	}
	routes := []api.Route{
		{Pattern: "GET " + res.path, Role: read, Handle: res.list},
		{Pattern: "GET " + one, Role: read, Handle: res.show},
	}
	if res.create != nil {
		routes = append(routes, api.Route{Pattern: "POST " + res.path, Role: write, Handle: res.post})
	}
	if res.update != nil {
		routes = append(routes, api.Route{Pattern: "PUT " + one, Role: write, Handle: res.put})
	}
	if res.remove != nil {
		routes = append(routes, api.Route{Pattern: "DELETE " + one, Role: write, Handle: res.delete})
	}
	if !res.noTags {
		routes = append(routes, res.tags().Routes()...)
	}
	return routes
}

func (res resource[R, V]) list(c *api.Call) error {
	if res.prepare != nil {
		if err := res.prepare(c); err != nil {
			return err
		}
	}
	filters := api.TagFilters(func(v V) []string { return tagsOf(v) })
	for name, filter := range res.filters {
		filters[name] = filter
	}
	return c.View(func(r store.Reader) error {
		return api.List[V]{Key: res.many, ID: idOf[V], Filters: filters, Links: api.BothLinks, Strict: true, Paired: true}.
			Reply(c, res.views(r, c))
	})
}

// views yields what the caller sees, from the marker of a page on: what comes
// before it in the list's own order is not looked at.
func (res resource[R, V]) views(r store.Reader, c *api.Call) iter.Seq[V] {
	return func(yield func(V) bool) {
		marker := api.Marker(c)
		for record := range res.candidates(r, c) {
			if marker != "" && res.meta(&record).ID != marker {
				continue
			}
			marker = ""
			if res.visible(r, c.Principal, record) && !yield(res.view(r, c.Principal, record)) {
				return
			}
		}
	}
}

// candidates are the records that a list has to look at, each once.
func (res resource[R, V]) candidates(r store.Reader, c *api.Call) iter.Seq[R] {
	if ids := c.Request.URL.Query()["id"]; len(ids) > 0 {
		return res.byID(r, ids)
	}
	if res.narrow != nil {
		if found, ok := res.narrow(r, c); ok {
			return found
		}
	}
	if isAdmin(c.Principal) || res.of == nil {
		return res.table.All(r)
	}
	return func(yield func(R) bool) {
		for record := range res.of.Each(r, c.Principal.ProjectID) {
			if !yield(record) {
				return
			}
		}
		if res.shared == nil {
			return
		}
		seen := map[string]bool{}
		for record := range res.shared(r, c.Principal.ProjectID) {
			meta := res.meta(&record)
			if meta.ProjectID == c.Principal.ProjectID || seen[meta.ID] {
				continue
			}
			seen[meta.ID] = true
			if !yield(record) {
				return
			}
		}
	}
}

func (res resource[R, V]) byID(r store.Reader, ids []string) iter.Seq[R] {
	return func(yield func(R) bool) {
		seen := map[string]bool{}
		for _, id := range ids {
			record, ok := res.table.Get(r, id)
			if ok && !seen[id] && !yield(record) {
				return
			}
			seen[id] = true
		}
	}
}

func (res resource[R, V]) show(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		record, err := res.find(r, c.Principal, c.Path("id"))
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{res.one: api.Select(c, res.view(r, c.Principal, record))})
	})
}

// viewType is what decodeInto needs to tell read-only attributes.
func (res resource[R, V]) viewType() reflect.Type { return reflect.TypeFor[V]() }
