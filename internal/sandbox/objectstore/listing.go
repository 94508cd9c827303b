package objectstore

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
)

const listingLimit = 10_000

// entry is one line of a listing. What it shows in JSON is made only for the
// entries of the page.
type entry struct {
	name   string
	order  string // breaks ties between entries of one name
	render func() any
	value  any
}

type subdir struct {
	Subdir string `json:"subdir"`
}

func (e entry) rendered() any {
	if e.render == nil {
		return subdir{e.name}
	}
	return e.render()
}

// listing says which part of a list is asked for.
type listing struct {
	prefix, delimiter, marker, end string
	limit                          int
	reverse                        bool
}

func readListing(c *api.Call) (listing, error) {
	l := listing{prefix: c.Query("prefix"), delimiter: c.Query("delimiter"), marker: c.Query("marker"),
		end: c.Query("end_marker"), limit: listingLimit, reverse: isTrue(c.Query("reverse"))}
	if c.Request.URL.Query().Has("path") {
		l.prefix, l.delimiter = c.Query("path"), "/"
		if l.prefix != "" && !strings.HasSuffix(l.prefix, "/") {
			l.prefix += "/"
		}
	}
	if text := c.Query("limit"); text != "" {
		limit, err := strconv.Atoi(text)
		if err == nil && limit > listingLimit {
			return l, api.Errorf(http.StatusPreconditionFailed, "", "Maximum limit is %d", listingLimit)
		}
		if err == nil && limit >= 0 {
			l.limit = limit
		}
	}
	return l, nil
}

// cut sorts the entries, rolls up what is below a delimiter, and cuts out the
// page. Names are ordered by their bytes.
func (l listing) cut(entries []entry) []entry {
	entries = slices.DeleteFunc(entries, func(e entry) bool { return !strings.HasPrefix(e.name, l.prefix) })
	slices.SortStableFunc(entries, func(a, b entry) int {
		order := strings.Compare(a.name, b.name)
		if l.reverse {
			order = -order
		}
		if order == 0 {
			order = strings.Compare(b.order, a.order)
		}
		return order
	})
	var page []entry
	for _, e := range l.rollUp(entries) {
		if !l.between(e.name) {
			continue
		}
		if len(page) == l.limit {
			break
		}
		page = append(page, e)
	}
	return page
}

func (l listing) between(name string) bool {
	after, before := l.marker, l.end
	if l.reverse {
		after, before = l.end, l.marker
	}
	return (after == "" || name > after) && (before == "" || name < before)
}

// rollUp replaces the names that have the delimiter after the prefix by one
// entry for all of them.
func (l listing) rollUp(entries []entry) []entry {
	if l.delimiter == "" {
		return entries
	}
	var rolled []entry
	last := ""
	for _, e := range entries {
		head, _, found := strings.Cut(e.name[len(l.prefix):], l.delimiter)
		if !found {
			rolled = append(rolled, e)
			continue
		}
		dir := l.prefix + head + l.delimiter
		if dir != last {
			rolled = append(rolled, entry{name: dir})
			last = dir
		}
	}
	return rolled
}

// writeListing writes a page as JSON, or as lines of names, where an empty
// one is 204.
func writeListing(c *api.Call, entries []entry) error {
	if wantsJSON(c) {
		values := make([]any, 0, len(entries))
		for _, e := range entries {
			values = append(values, e.value)
		}
		text, err := json.Marshal(values)
		if err != nil {
			return err
		}
		return writeBody(c, "application/json; charset=utf-8", text)
	}
	if len(entries) == 0 {
		return answer(c, http.StatusNoContent)
	}
	var text strings.Builder
	for _, e := range entries {
		text.WriteString(e.name + "\n")
	}
	return writeBody(c, "text/plain; charset=utf-8", []byte(text.String()))
}

func writeBody(c *api.Call, kind string, body []byte) error {
	c.Writer.Header().Set("Content-Type", kind)
	c.Writer.Header().Set("Content-Length", strconv.Itoa(len(body)))
	c.Writer.WriteHeader(http.StatusOK)
	_, _ = c.Writer.Write(body) // the client may have gone
	return nil
}
