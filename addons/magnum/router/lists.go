package router

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-sh/slipway/addons/magnum/api"
)

// listing is a list of the API.
type listing struct {
	// path is below /v1; name is the member of the answer with the items, key what of an item is its
	// marker.
	path, name, key string
}

// item is an element of a list, as a member wrote it.
type item struct {
	json   json.RawMessage
	fields map[string]any
}

// text is a field as text that sorts as the API sorts it: numbers by their value.
func (i item) text(field string) string {
	switch v := i.fields[field].(type) {
	case string:
		return v
	case float64:
		return fmt.Sprintf("%020.0f", v)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// marker is what tells an item from others.
func (l listing) marker(i item) string {
	if number, ok := i.fields[l.key].(float64); ok {
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	return i.text(l.key)
}

// listOfAll is the list of all projects that a request asks for; nil is none.
func (c *call) listOfAll() *listing {
	if !c.read() {
		return nil
	}
	l := &listing{path: strings.Join(c.parts, "/"), name: c.parts[0], key: "uuid"}
	rule := ""
	switch l.path {
	case "clusters":
		rule = "cluster:get_all_all_projects"
	case "clusters/detail":
		rule = "cluster:detail_all_projects"
	case "clustertemplates":
		rule = "clustertemplate:get_all_all_projects"
	case "clustertemplates/detail":
		rule = "clustertemplate:detail_all_projects"
	case "quotas":
		if all, ok := api.ParseBool(c.values.Get("all_tenants")); !ok || !all {
			return nil
		}
		l.key, rule = "id", "quota:get_all"
	}
	if rule == "" || !c.everywhere(rule) {
		return nil
	}
	return l
}

// merge answers with a page of the lists of all members.
func (c *call) merge(l listing) error {
	limit := c.s.o.MaxLimit
	if c.values.Has("limit") {
		given, err := strconv.Atoi(c.values.Get("limit"))
		if err != nil || given < 1 {
			return c.forward(&c.s.o.Members[0]) // which says what is wrong with it
		}
		limit = min(limit, given)
	}
	collect := c.inOrder
	if key := c.values.Get("sort_key"); key != "" && key != "id" {
		collect = c.sorted
	}
	items, first, err := collect(l, limit)
	if err != nil {
		return err
	}
	all := make([]json.RawMessage, len(items))
	for i := range items {
		all[i] = items[i].json
	}
	body := map[string]any{l.name: all}
	if len(items) == limit {
		next := clone(c.values)
		next.Set("sort_key", cmp.Or(next.Get("sort_key"), "id"))
		next.Set("sort_dir", cmp.Or(next.Get("sort_dir"), "asc"))
		next.Set("limit", strconv.Itoa(limit))
		next.Set("marker", l.marker(items[limit-1]))
		body["next"] = api.NextLink(c.r, c.base, l.path, next)
	}
	return c.replyMerged(first, body)
}

// inOrder is a page of the lists of the members, one after the other. Each is in the order of
// creation; the order is the same for every page.
func (c *call) inOrder(l listing, limit int) (items []item, first *answer, err error) {
	members := c.s.everyone(nil)
	if c.values.Get("sort_dir") == "desc" {
		slices.Reverse(members)
	}
	values := clone(c.values)
	for _, m := range members {
		for more := true; more && len(items) < limit; {
			values.Set("limit", strconv.Itoa(limit-len(items)))
			var got []item
			var a *answer
			if got, more, a, err = c.page(c.ctx(), m, l, values); err != nil {
				return nil, nil, err
			}
			if a.status != http.StatusOK {
				// A marker that this member does not know may be another's.
				if a.status == http.StatusNotFound && values.Has("marker") && len(items) == 0 && m != members[len(members)-1] {
					break
				}
				return nil, nil, a.refusal()
			}
			first = cmp.Or(first, a)
			if items = append(items, got...); len(items) > 0 {
				values.Set("marker", l.marker(items[len(items)-1]))
			}
		}
		if first != nil {
			values.Del("marker") // the next member's list begins at its beginning
		}
	}
	return items, first, nil
}

// sorted is a page of the lists of all members in another order than that of creation. The members
// are asked for all of them: where a page begins is known only by what is before it.
func (c *call) sorted(l listing, limit int) (items []item, first *answer, err error) {
	key, marker := c.values.Get("sort_key"), c.values.Get("marker")
	values := clone(c.values)
	values.Del("limit")
	values.Del("marker")
	full := l
	if l.name != "quotas" {
		full.path = l.name + "/detail" // which has all that there is to sort by
	}
	for _, m := range c.s.everyone(nil) {
		got, a, err := c.all(c.ctx(), m, full, values)
		if err != nil {
			return nil, nil, err
		}
		items, first = append(items, got...), cmp.Or(first, a)
	}
	slices.SortStableFunc(items, func(a, b item) int {
		if c.values.Get("sort_dir") == "desc" {
			a, b = b, a
		}
		return strings.Compare(a.text(key), b.text(key))
	})
	if c.values.Has("marker") {
		i := slices.IndexFunc(items, func(i item) bool { return strings.EqualFold(l.marker(i), marker) })
		if i < 0 {
			return c.inOrder(l, limit) // which says that there is no such marker
		}
		items = items[i+1:]
	}
	items = items[:min(limit, len(items))]
	if full.path != l.path {
		err = c.shorten(l, items)
	}
	return items, first, err
}

// shorten gives items the form of the list of a shorter one.
func (c *call) shorten(l listing, items []item) error {
	short := map[string]item{}
	for _, m := range c.s.everyone(nil) {
		got, _, err := c.all(c.ctx(), m, l, url.Values{})
		if err != nil {
			return err
		}
		for _, i := range got {
			short[l.marker(i)] = i
		}
	}
	for n := range items {
		if i, ok := short[l.marker(items[n])]; ok { // else it was deleted in this moment
			items[n] = i
		}
	}
	return nil
}

// all is the whole list of a member.
func (c *call) all(ctx context.Context, m *Member, l listing, values url.Values) (items []item, first *answer, err error) {
	values = clone(values)
	for {
		got, more, a, err := c.page(ctx, m, l, values)
		if err == nil && a.status != http.StatusOK {
			err = a.refusal()
		}
		if err != nil {
			return nil, nil, err
		}
		items, first = append(items, got...), cmp.Or(first, a)
		if !more || len(got) == 0 {
			return items, first, nil
		}
		values.Set("marker", l.marker(got[len(got)-1]))
	}
}

// page is a page of the list of a member, and whether there may be more. The answer may be another
// than 200; then there are no items.
func (c *call) page(ctx context.Context, m *Member, l listing, values url.Values) (items []item, more bool, a *answer, err error) {
	a, err = c.ask(ctx, m, l.path, values)
	if err != nil || a.status != http.StatusOK {
		return nil, false, a, err
	}
	body := map[string]json.RawMessage{}
	var list []json.RawMessage
	if err := a.decode(&body); err != nil {
		return nil, false, nil, err
	}
	if err := json.Unmarshal(body[l.name], &list); err != nil {
		return nil, false, nil, away(m, fmt.Errorf("its list of %s cannot be read: %w", l.name, err))
	}
	for _, text := range list {
		i := item{json: text}
		if err := json.Unmarshal(text, &i.fields); err != nil {
			return nil, false, nil, away(m, fmt.Errorf("its list of %s cannot be read: %w", l.name, err))
		}
		items = append(items, i)
	}
	return items, body["next"] != nil, a, nil
}

func clone(values url.Values) url.Values {
	copied := url.Values{}
	for name, given := range values {
		copied[name] = slices.Clone(given)
	}
	return copied
}
