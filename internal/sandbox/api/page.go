package api

import (
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Page says which part of a list an answer has.
type Page struct {
	// Limit is the limit of the query, 0 if it has none.
	Limit int
	// First and Last are the ids of the first and the last item of the page; they are empty if the
	// page is empty.
	First, Last string
	// Before and After say that there are items before and after the page.
	Before, After bool
}

// Links adds the links of a page to a body, whose list is under the key.
type Links func(c *Call, p Page, key string, body map[string]any)

// stream cuts the page out of items that are in order, and reads no more of them than it needs.
func (l List[T]) stream(query url.Values, items iter.Seq[T]) (Page, []T, error) {
	page, limit, err := l.limit(query)
	if err != nil {
		return page, nil, err
	}
	marker := query.Get("marker")
	begun := marker == ""
	picked := []T{}
	for item := range items {
		if !begun {
			begun, page.Before = l.ID(item) == marker, true
			continue
		}
		if limit > 0 && len(picked) == limit {
			page.After = true
			break
		}
		picked = append(picked, item)
	}
	if !begun {
		return page, nil, BadRequest("marker [%s] not found", marker)
	}
	return l.ends(page, picked), picked, nil
}

// cut cuts out the page that the query asks for. A page that is read backwards ends before the
// marker and needs all items.
func (l List[T]) cut(query url.Values, items iter.Seq[T]) (Page, []T, error) {
	if !reversed(query) {
		return l.stream(query, items)
	}
	page, limit, err := l.limit(query)
	if err != nil {
		return page, nil, err
	}
	all := slices.Collect(items)
	end := len(all)
	if marker := query.Get("marker"); marker != "" {
		if end = slices.IndexFunc(all, func(item T) bool { return l.ID(item) == marker }); end < 0 {
			return page, nil, BadRequest("marker [%s] not found", marker)
		}
	}
	start := 0
	if limit > 0 {
		start = max(0, end-limit)
	}
	page.Before, page.After = start > 0, end < len(all)
	return l.ends(page, all[start:end]), all[start:end], nil
}

// Marker returns the id after which the page that a query asks for begins, if the list keeps its
// own order: the caller need not produce the items before it. It is empty for a page that is read
// backwards or sorted, which needs all items.
func Marker(c *Call) string {
	query := c.Request.URL.Query()
	if reversed(query) || query.Has("sort") || query.Has("sort_key") {
		return ""
	}
	return query.Get("marker")
}

func reversed(query url.Values) bool { return strings.EqualFold(query.Get("page_reverse"), "true") }

func (l List[T]) ends(page Page, picked []T) Page {
	if len(picked) > 0 {
		page.First, page.Last = l.ID(picked[0]), l.ID(picked[len(picked)-1])
	}
	return page
}

// limit returns how many items a page may have, 0 for any number, and a Page that has the limit if
// the query asked for one.
func (l List[T]) limit(query url.Values) (Page, int, error) {
	text := query.Get("limit")
	if text == "" {
		return Page{}, l.MaxLimit, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 0 {
		return Page{}, 0, BadRequest("limit param must be an integer that is not negative: %q", text)
	}
	if limit == 0 || (l.MaxLimit > 0 && limit > l.MaxLimit) {
		limit = l.MaxLimit
	}
	return Page{Limit: limit}, limit, nil
}

// pageURL returns the address of the next or the previous page.
func pageURL(c *Call, marker string, reverse bool) string {
	query := c.Request.URL.Query()
	query.Set("marker", marker)
	query.Del("page_reverse")
	if reverse {
		query.Set("page_reverse", "True")
	}
	return c.Base() + c.fullPath() + "?" + query.Encode()
}

// fullPath returns the request's path with the service's prefix.
func (c *Call) fullPath() string { return c.Service.Prefix + c.Request.URL.EscapedPath() }

// NextLinks adds the links of Nova and Cinder: "servers_links" with next, if there is a next page.
func NextLinks(c *Call, p Page, key string, body map[string]any) {
	if p.After {
		body[key+"_links"] = []Link{{"next", pageURL(c, p.Last, false)}}
	}
}

// BothLinks adds the links of Neutron and Octavia: "networks_links" with next and previous, if the
// query has a limit.
func BothLinks(c *Call, p Page, key string, body map[string]any) {
	var links []Link
	if p.Limit > 0 && p.After {
		links = append(links, Link{"next", pageURL(c, p.Last, false)})
	}
	if p.Limit > 0 && p.Before && p.First != "" {
		links = append(links, Link{"previous", pageURL(c, p.First, true)})
	}
	if len(links) > 0 {
		body[key+"_links"] = links
	}
}

// SelfLinks adds the links of Keystone: "links" with self, next and previous.
func SelfLinks(c *Call, p Page, _ string, body map[string]any) {
	links := map[string]any{"self": c.Base() + c.fullPath(), "previous": nil, "next": nil}
	if p.Limit > 0 && p.After {
		links["next"] = pageURL(c, p.Last, false)
	}
	body["links"] = links
}

// PathLinks adds the links of Glance: "first" and "next" without a host.
func PathLinks(c *Call, p Page, _ string, body map[string]any) {
	query := c.Request.URL.Query()
	query.Del("marker")
	body["first"] = strings.TrimSuffix(c.Request.URL.Path+"?"+query.Encode(), "?")
	if p.After {
		query.Set("marker", p.Last)
		body["next"] = c.Request.URL.Path + "?" + query.Encode()
	}
}
