package api

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Page says what part of a list an answer holds.
type Page struct {
	// Limit is the limit of the query, 0 without one.
	Limit int
	// First and Last are the ids at the ends of the page, empty if it is.
	First, Last string
	// Before and After say that there are items on that side.
	Before, After bool
}

// Links adds the links of a page to a body, whose list is under the key.
type Links func(c *Call, p Page, key string, body map[string]any)

func (l List[T]) page(query url.Values, items []T) (Page, []T, error) {
	limit, err := l.limit(query)
	if err != nil {
		return Page{}, nil, err
	}
	page := Page{}
	if query.Get("limit") != "" {
		page.Limit = limit
	}
	start, end := 0, len(items)
	reverse := strings.EqualFold(query.Get("page_reverse"), "true")
	if marker := query.Get("marker"); marker != "" {
		at := slices.IndexFunc(items, func(item T) bool { return l.ID(item) == marker })
		if at < 0 {
			return Page{}, nil, BadRequest("marker [%s] not found", marker)
		}
		start = at + 1
		if reverse {
			start, end = 0, at
		}
	}
	if limit > 0 && end-start > limit {
		if reverse {
			start = end - limit
		} else {
			end = start + limit
		}
	}
	page.Before, page.After = start > 0, end < len(items)
	if start < end {
		page.First, page.Last = l.ID(items[start]), l.ID(items[end-1])
	}
	return page, items[start:end], nil
}

func (l List[T]) limit(query url.Values) (int, error) {
	text := query.Get("limit")
	if text == "" {
		return l.MaxLimit, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 0 {
		return 0, BadRequest("limit param must be an integer that is not negative: %q", text)
	}
	if limit == 0 || (l.MaxLimit > 0 && limit > l.MaxLimit) {
		return l.MaxLimit, nil
	}
	return limit, nil
}

// pageURL is the address of a neighbour page.
func pageURL(c *Call, marker string, reverse bool) string {
	query := c.Request.URL.Query()
	query.Set("marker", marker)
	query.Del("page_reverse")
	if reverse {
		query.Set("page_reverse", "True")
	}
	return c.Base() + c.fullPath() + "?" + query.Encode()
}

// fullPath is the request's path with the service's prefix.
func (c *Call) fullPath() string { return c.Service.Prefix + c.Request.URL.EscapedPath() }

// NextLinks is Nova's and Cinder's: "servers_links" with next, if there is one.
func NextLinks(c *Call, p Page, key string, body map[string]any) {
	if p.After {
		body[key+"_links"] = []Link{{"next", pageURL(c, p.Last, false)}}
	}
}

// BothLinks is Neutron's and Octavia's: "networks_links" with next and
// previous, if the query has a limit.
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

// SelfLinks is Keystone's: "links" with self, next and previous.
func SelfLinks(c *Call, p Page, _ string, body map[string]any) {
	links := map[string]any{"self": c.Base() + c.fullPath(), "previous": nil, "next": nil}
	if p.Limit > 0 && p.After {
		links["next"] = pageURL(c, p.Last, false)
	}
	body["links"] = links
}

// PathLinks is Glance's: "first" and "next" without host.
func PathLinks(c *Call, p Page, _ string, body map[string]any) {
	query := c.Request.URL.Query()
	query.Del("marker")
	body["first"] = strings.TrimSuffix(c.Request.URL.Path+"?"+query.Encode(), "?")
	if p.After {
		query.Set("marker", p.Last)
		body["next"] = c.Request.URL.Path + "?" + query.Encode()
	}
}
