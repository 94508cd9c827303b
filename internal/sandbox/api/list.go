package api

import (
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// Filter reports whether an item matches a query parameter; it gets several values when the query
// has the parameter several times.
type Filter[T any] func(item T, values []string) bool

// List answers a request for a collection: filtered by every attribute of T that the query names
// (by JSON name), sorted, cut to a page, reduced to the fields asked for. T must have only what the
// API shows, because a query can filter by every field of it; for records that have more, use List
// with a rendered form of them.
type List[T any] struct {
	// Key is the body's key ("networks").
	Key string
	ID  func(T) string
	// Render returns what is encoded as the JSON of an item; nil encodes the item itself.
	Render func(T) any
	// Filters are for query parameters that are no attribute, or that filter in another way than
	// their attribute. A nil Filter ignores the parameter.
	Filters map[string]Filter[T]
	// Sort has the default sort keys, "key" or "key:desc"; empty keeps the order.
	Sort []string
	// MaxLimit is the largest size of a page, and the size for a request without limit; 0 is no
	// bound.
	MaxLimit int
	Links    Links
	// Inexact lets "name__contains" and the like filter, as Keystone does.
	Inexact bool
	// Paired requires a direction for each sort key, as Neutron does.
	Paired bool
	// Strict refuses query parameters that are neither an attribute nor a filter.
	Strict bool
}

// Reply answers with the page of items that the query asks for.
func (l List[T]) Reply(c *Call, items iter.Seq[T]) error {
	query := c.Request.URL.Query()
	chosen, err := l.filter(query, items)
	if err != nil {
		return err
	}
	if l.Paired && len(query["sort_key"]) != len(query["sort_dir"]) {
		return BadRequest("The number of sort_keys and sort_dirs must be same")
	}
	keys, err := sortKeys(reflect.TypeFor[T](), query, l.Sort)
	if err != nil {
		return err
	}
	if len(keys) > 0 {
		chosen = sorted(chosen, keys)
	}
	page, picked, err := l.cut(query, chosen)
	if err != nil {
		return err
	}
	rendered := make([]any, 0, len(picked))
	for _, item := range picked {
		var out any = item
		if l.Render != nil {
			out = l.Render(item)
		}
		rendered = append(rendered, selected(query["fields"], out))
	}
	body := map[string]any{l.Key: rendered}
	if l.Links != nil {
		l.Links(c, page, l.Key, body)
	}
	return c.Reply(http.StatusOK, body)
}

// reserved reports whether a query parameter is one of paging, sorting or selecting.
func reserved(name string) bool {
	switch name {
	case "limit", "marker", "page_reverse", "sort", "sort_key", "sort_dir", "fields":
		return true
	}
	return false
}

// filter returns the items that pass every filter of the query, and tests them only when they are
// read. It also returns the item that is the page's marker: that one may have changed since the
// previous page, and it is not shown again.
func (l List[T]) filter(query url.Values, items iter.Seq[T]) (iter.Seq[T], error) {
	known := attributes(reflect.TypeFor[T]())
	var tests []func(T) bool
	for name, values := range query {
		own, isOwn := l.Filters[name]
		attribute, comparison := name, matches
		if base, suffix, found := strings.Cut(name, "__"); l.Inexact && found && inexact(suffix) != nil {
			attribute, comparison = base, inexact(suffix)
		}
		index, isAttribute := known[attribute]
		switch {
		case reserved(name) || (isOwn && own == nil):
		case isOwn:
			tests = append(tests, func(item T) bool { return own(item, values) })
		case isAttribute:
			tests = append(tests, func(item T) bool { return matchesAny(reflect.ValueOf(item).FieldByIndex(index), values, comparison) })
		case l.Strict:
			return nil, BadRequest("[%q] is invalid attribute for filtering", name)
		}
	}
	if len(tests) == 0 {
		return items, nil
	}
	marker := query.Get("marker")
	return func(yield func(T) bool) {
		for item := range items {
			fails := func(test func(T) bool) bool { return !test(item) }
			shown := marker != "" && l.ID(item) == marker || !slices.ContainsFunc(tests, fails)
			if shown && !yield(item) {
				return
			}
		}
	}, nil
}

func matchesAny(v reflect.Value, values []string, matches func(reflect.Value, string) bool) bool {
	return slices.ContainsFunc(values, func(text string) bool { return matches(v, text) })
}

// inexact returns the comparison for a suffix of a query parameter; nil for an unknown suffix.
func inexact(suffix string) func(reflect.Value, string) bool {
	compare, fold := map[string]func(s, part string) bool{
		"contains": strings.Contains, "startswith": strings.HasPrefix, "endswith": strings.HasSuffix, "equals": func(s, text string) bool { return s == text },
	}[strings.TrimPrefix(suffix, "i")], strings.HasPrefix(suffix, "i")
	if compare == nil {
		return nil
	}
	return func(v reflect.Value, text string) bool {
		if v.Kind() != reflect.String {
			return false
		}
		if fold {
			return compare(strings.ToLower(v.String()), strings.ToLower(text))
		}
		return compare(v.String(), text)
	}
}

// Select reduces an object to the attributes that the query names in fields; without fields it
// returns the object as it is.
func Select(c *Call, object any) any {
	return selected(c.Request.URL.Query()["fields"], object)
}

func selected(fields []string, object any) any {
	if len(fields) == 0 {
		return object
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(encode(object), &all) != nil {
		return object
	}
	some := map[string]json.RawMessage{}
	for _, field := range fields {
		if value, ok := all[field]; ok {
			some[field] = value
		}
	}
	return some
}
