package api

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// pagingParams are the parameters of every list.
func pagingParams(more ...string) []string {
	return append([]string{"limit", "marker", "sort_key", "sort_dir"}, more...)
}

// query reads the parameters; a parameter that the route does not know is an error.
func (c *call) query(known []string) error {
	values, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return badRequest("The query cannot be read.")
	}
	for name := range values {
		if !slices.Contains(known, name) {
			return badRequest("Unknown argument: %s.", name)
		}
	}
	c.values = values
	return nil
}

// boolParam is a parameter that is true or false; absent is false.
func (c *call) boolParam(name string) (bool, error) {
	text := c.values.Get(name)
	if !c.values.Has(name) {
		return false, nil
	}
	value, ok := ParseBool(text)
	if !ok {
		return false, badRequest("Invalid input for argument %s: it must be true or false.", name)
	}
	return value, nil
}

// listing is how objects of a kind are listed.
type listing[T any] struct {
	// path is below /v1/, for the next link.
	path string
	// columns are the sort keys of Magnum's table; "id" must be among them.
	columns map[string]func(T) string
	// marker is the object's marker; markerOK reports whether a text can be one.
	marker   func(T) string
	markerOK func(string) bool
}

// isUUID reports whether a text is a UUID as Magnum accepts it: dashes are optional.
func isUUID(text string) bool {
	_, err := uuid.Parse(text)
	return err == nil && (len(text) == 36 || len(text) == 32)
}

// canonical is a UUID in lower case with dashes, "" if it is none.
func canonical(text string) string {
	if !isUUID(text) {
		return ""
	}
	id, _ := uuid.Parse(text)
	return id.String()
}

// padded makes numbers sort as text.
func padded(n int64) string { return fmt.Sprintf("%020d", n) }

// limit is the number of items on a page.
func (c *call) limit() (int, error) {
	if !c.values.Has("limit") {
		return c.s.o.MaxLimit, nil
	}
	limit, err := strconv.ParseInt(c.values.Get("limit"), 10, 64)
	if err != nil || limit <= 0 {
		return 0, badRequest("Limit must be positive.")
	}
	return int(min(limit, int64(c.s.o.MaxLimit))), nil
}

// page cuts a page out of items, which are in order of their id, and returns
// the link to the next one, "" if this is the last.
func page[T any](c *call, items []T, l listing[T]) ([]T, string, error) {
	limit, err := c.limit()
	if err != nil {
		return nil, "", err
	}
	key, direction := cmp.Or(c.values.Get("sort_key"), "id"), cmp.Or(c.values.Get("sort_dir"), "asc")
	column := l.columns[key]
	if column == nil {
		return nil, "", badRequest("The sort key %q does not exist.", key)
	}
	if direction != "asc" && direction != "desc" {
		return nil, "", badRequest("Invalid sort direction: %s. Acceptable values are asc and desc.", direction)
	}
	items = sorted(items, key, direction, l.columns)
	if items, err = after(c, items, l); err != nil {
		return nil, "", err
	}
	if len(items) < limit {
		return items, "", nil
	}
	items = items[:limit]
	return items, c.next(l.path, key, direction, limit, l.marker(items[limit-1])), nil
}

// sorted does not change the given slice, which others read.
func sorted[T any](items []T, key, direction string, columns map[string]func(T) string) []T {
	if key == "id" && direction == "asc" {
		return items
	}
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b T) int {
		if d := strings.Compare(columns[key](a), columns[key](b)); d != 0 {
			return d
		}
		return strings.Compare(columns["id"](a), columns["id"](b))
	})
	if direction == "desc" {
		slices.Reverse(items)
	}
	return items
}

func after[T any](c *call, items []T, l listing[T]) ([]T, error) {
	marker := c.values.Get("marker")
	if !c.values.Has("marker") {
		return items, nil
	}
	if !l.markerOK(marker) {
		return nil, badRequest("The marker %q is malformed.", marker)
	}
	if id := canonical(marker); id != "" {
		marker = id
	}
	i := slices.IndexFunc(items, func(item T) bool { return l.marker(item) == marker })
	if i < 0 {
		return nil, notFound("The marker %s could not be found.", marker)
	}
	return items[i+1:], nil
}

// next is the link to the next page.
func (c *call) next(path, key, direction string, limit int, marker string) string {
	values := url.Values{}
	for name, given := range c.values {
		values[name] = given
	}
	values.Set("sort_key", key)
	values.Set("sort_dir", direction)
	values.Set("limit", strconv.Itoa(limit))
	values.Set("marker", marker)
	return NextLink(c.r, c.base, path, values)
}

// NextLink is the address of the next page of a list, at a path below /v1. base is the address that
// clients use, without /v1. python-magnumclient cuts scheme and host off and appends the rest to
// the catalog's address, which works only if the path begins with /v1; others use the link as it
// is.
func NextLink(r *http.Request, base, path string, values url.Values) string {
	if u, err := url.Parse(base); err == nil && strings.HasPrefix(r.UserAgent(), brittleClient) {
		u.Path = ""
		base = u.String()
	}
	return base + "/v1/" + path + "?" + values.Encode()
}

// collection answers with a page of items.
func collection(c *call, name string, items []any, next string) error {
	body := map[string]any{name: items}
	if next != "" {
		body["next"] = next
	}
	return c.reply(http.StatusOK, body)
}
