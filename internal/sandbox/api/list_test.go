package api_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// lists serves ten things: sizes go down, every third is big.
func lists(t *testing.T, links api.Links) *fixture {
	t.Helper()
	f := start(t, func(f *fixture, s *api.Service) {
		filters := api.TagFilters(func(v thing) []string { return v.Tags })
		filters["all_tenants"] = nil
		filters["name_prefix"] = func(v thing, values []string) bool { return strings.HasPrefix(v.Name, values[0]) }
		list := api.List[thing]{Key: "things", ID: func(v thing) string { return v.ID }, Links: links, Filters: filters, MaxLimit: 8, Strict: true, Inexact: true}
		s.Routes = append(s.Routes, api.Route{Pattern: "GET /v1/things", Role: api.Reader, Handle: func(c *api.Call) error {
			return c.View(func(r store.Reader) error { return list.Reply(c, f.things.All(r)) })
		}})
	})
	owner := "o"
	for i := range 10 {
		v := thing{ID: fmt.Sprint(i), Name: fmt.Sprintf("n%d", i%2), Size: 10 - i, Big: i%3 == 0, Tags: []string{fmt.Sprintf("t%d", i%2), "all"}}
		if i == 4 {
			v.Owner = &owner
		}
		f.put(t, v)
	}
	return f
}

type page struct {
	Things []thing    `json:"things"`
	Links  []api.Link `json:"things_links"`
}

func (f *fixture) list(t *testing.T, query string) (ids string, p page) {
	t.Helper()
	got := f.call(t, "GET", "/things/v1/things?"+query, "reader", "")
	if got.status != 200 {
		return got.text, p
	}
	got.decode(t, &p)
	for _, v := range p.Things {
		ids += v.ID
	}
	return ids, p
}

func TestListQueries(t *testing.T) {
	t.Parallel()
	f := lists(t, api.BothLinks)
	for query, want := range map[string]string{
		"":                                     "01234567",
		"all_tenants=1":                        "01234567",
		"name=n1":                              "13579",
		"name=n1&big=true":                     "39",
		"name=n0&name=n1&big=True":             "0369",
		"size=10":                              "0",
		"tags=all":                             "01234567",
		"owner=o":                              "4",
		"owner=":                               "01235678",
		"name_prefix=n&id=3":                   "3",
		"name__contains=1":                     "13579",
		"name__startswith=N":                   "",
		"name__istartswith=N&name__endswith=0": "02468",
		"size__contains=1":                     "",
		"not-tags=t0":                          "13579",
		"tags-any=t1,nothing":                  "13579",
		"tags=t1,all&not-tags-any=none":        "13579",
		"limit=3":                              "012",
		"limit=3&marker=2":                     "345",
		"limit=3&marker=9":                     "",
		"name=n1&limit=2&marker=2":             "35",
		"name=n1&limit=2&marker=6&page_reverse=True": "35",
		"limit=0":                                "01234567",
		"limit=100":                              "01234567",
		"limit=3&marker=5&page_reverse=True":     "234",
		"limit=3&marker=1&page_reverse=true":     "0",
		"sort_key=size":                          "98765432",
		"sort_key=size&limit=2&marker=8":         "76",
		"sort_key=name&sort_dir=desc":            "13579024",
		"sort=big:desc,size:asc":                 "96308754",
		"sort_key=big&sort_key=id&sort_dir=desc": "03691245",
		"sort_key=owner&sort_dir=desc&limit=1":   "4",
	} {
		if got, _ := f.list(t, query); got != want {
			t.Errorf("?%s: %s, want %s", query, got, want)
		}
	}
	for _, query := range []string{"limit=x", "limit=-1", "marker=none", "sort_key=weight", "sort=size:up", "color=red", "name__like=n"} {
		if got := f.call(t, "GET", "/things/v1/things?"+query, "reader", ""); got.status != 400 {
			t.Errorf("?%s: %d, want 400", query, got.status)
		}
	}
}

// Following the links visits everything once, in both directions, whatever
// the size of the page.
func TestPageLinks(t *testing.T) {
	t.Parallel()
	f := lists(t, api.BothLinks)
	for limit := 1; limit <= 8; limit++ {
		query := fmt.Sprintf("limit=%d&sort_key=size", limit)
		var forward, last string
		for query != "" {
			last = query
			ids, p := f.list(t, query)
			forward += ids
			query = f.follow(t, p, "next")
		}
		if forward != "9876543210" {
			t.Errorf("limit %d forward: %s", limit, forward)
		}
		var pages []string
		for query = last; query != ""; {
			ids, p := f.list(t, query)
			pages = append(pages, ids)
			query = f.follow(t, p, "previous")
		}
		slices.Reverse(pages)
		if back := strings.Join(pages, ""); back != "9876543210" {
			t.Errorf("limit %d backward: %s", limit, back)
		}
	}
}

// follow returns the query of a link of a page.
func (f *fixture) follow(t *testing.T, p page, rel string) string {
	t.Helper()
	for _, link := range p.Links {
		if link.Rel != rel {
			continue
		}
		u, err := url.Parse(link.Href)
		if err != nil || !strings.HasPrefix(link.Href, f.URL+"/things/v1/things?") {
			t.Fatalf("link %s: %v", link.Href, err)
		}
		return u.RawQuery
	}
	return ""
}

func TestFieldSelection(t *testing.T) {
	t.Parallel()
	f := lists(t, api.NextLinks)
	got := f.call(t, "GET", "/things/v1/things?fields=id&fields=size&fields=unknown&limit=1", "reader", "")
	if want := `"things":[{"id":"0","size":10}]`; !strings.Contains(got.text, want) {
		t.Errorf("got %s, want %s", got.text, want)
	}
	if !strings.Contains(got.text, `"things_links":[{"rel":"next"`) {
		t.Errorf("no link to the next page: %s", got.text)
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	f := start(t, func(f *fixture, s *api.Service) {
		s.Routes = append(s.Routes, api.Tags{Path: "/v1/things/{id}", Read: api.Reader, Write: api.Member, Max: 5,
			Get: func(c *api.Call, r store.Reader) ([]string, error) {
				v, ok := f.things.Get(r, c.Path("id"))
				if !ok {
					return nil, api.NotFound("no thing")
				}
				return v.Tags, nil
			},
			Put: func(c *api.Call, tx *store.Tx, tags []string) {
				f.things.Change(tx, c.Path("id"), func(v *thing) { v.Tags = tags })
			}}.Routes()...)
	})
	f.put(t, thing{ID: "1"})
	for _, c := range []struct {
		method, path, body string
		status             int
		text               string
	}{
		{"GET", "/1/tags", "", 200, `{"tags":[]}`},
		{"PUT", "/1/tags/red", "", 201, ""},
		{"PUT", "/1/tags/red", "", 201, ""},
		{"GET", "/1/tags/red", "", 204, ""},
		{"GET", "/1/tags/blue", "", 404, "blue"},
		{"PUT", "/1/tags/much-too-long", "", 400, "tag"},
		{"PUT", "/1/tags", `{"tags":["b","a","b"]}`, 200, `{"tags":["a","b"]}`},
		{"PUT", "/1/tags", `{"tags":["b,c"]}`, 400, "tag"},
		{"DELETE", "/1/tags/a", "", 204, ""},
		{"DELETE", "/1/tags/a", "", 404, "a"},
		{"GET", "/1/tags", "", 200, `{"tags":["b"]}`},
		{"DELETE", "/1/tags", "", 204, ""},
		{"GET", "/1/tags", "", 200, `{"tags":[]}`},
		{"GET", "/2/tags", "", 404, "no thing"},
	} {
		got := f.call(t, c.method, "/things/v1/things"+c.path, "member", c.body)
		if got.status != c.status || !strings.Contains(got.text, c.text) {
			t.Errorf("%s %s: %d %s", c.method, c.path, got.status, got.text)
		}
	}
}
