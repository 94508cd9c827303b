package image

import (
	"encoding/csv"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// pageSize is how many images an answer has when the request has no limit.
const pageSize = 25

func (s *service) list(c *api.Call) error {
	query := c.Request.URL.Query()
	if err := checkQuery(query); err != nil {
		return err
	}
	filters, err := listFilters(query)
	if err != nil {
		return err
	}
	list := api.List[view]{Key: "images", ID: func(v view) string { return v.ID }, Render: view.render,
		Filters: filters, Sort: []string{"created_at:desc"}, MaxLimit: 1000, Links: links}
	if query.Get("limit") == "" {
		list.MaxLimit = pageSize
	}
	return c.View(func(r store.Reader) error {
		return list.Reply(c, func(yield func(view) bool) {
			for v := range s.listed(c, r, query) {
				if !yield(newView(v)) {
					return
				}
			}
		})
	})
}

func links(c *api.Call, p api.Page, key string, body map[string]any) {
	api.PathLinks(c, p, key, body)
	body["schema"] = "/v2/schemas/images"
}

// listed yields the images that a list shows: all that the caller can see, except that community
// images and offered images are shown only on request.
func (s *service) listed(c *api.Call, r store.Reader, query url.Values) iter.Seq[model.Image] {
	visibility, status, hidden := query.Get("visibility"), query.Get("member_status"), query.Get("os_hidden") != ""
	if status == "" {
		status = "accepted"
	}
	return func(yield func(model.Image) bool) {
		all := slices.Collect(s.model.Image.Images.All(r))
		for _, v := range slices.Backward(all) { // the newest first, also those of one second
			if (hidden || !v.Hidden) && s.shows(c, r, v, visibility, status) && !yield(v) {
				return
			}
		}
	}
}

func (s *service) shows(c *api.Call, r store.Reader, v model.Image, visibility, status string) bool {
	switch {
	case visibility != "" && visibility != "all" && visibility != v.Visibility:
		return false
	case c.Principal.Owns(v.ProjectID) || v.Visibility == "public":
		return true
	case v.Visibility == "community":
		return visibility == "community" || visibility == "all"
	case v.Visibility == "shared":
		member, ok := s.model.Image.Members.Get(r, model.ImageMemberID(v.ID, c.Principal.ProjectID))
		return ok && (status == "all" || member.Status == status)
	}
	return false
}

func checkQuery(query url.Values) error {
	if v := query.Get("visibility"); v != "" && v != "all" && !slices.Contains(visibilities(), v) {
		return api.BadRequest("Invalid visibility value: %s", v)
	}
	if v := query.Get("member_status"); v != "" && !slices.Contains([]string{"pending", "accepted", "rejected", "all"}, v) {
		return api.BadRequest("Invalid status: %s", v)
	}
	if v := query.Get("limit"); v != "" {
		limit, err := strconv.Atoi(v)
		if err != nil {
			return api.BadRequest("limit param must be an integer")
		}
		if limit < 0 {
			return api.BadRequest("limit param must be positive")
		}
	}
	for _, name := range []string{"protected", "os_hidden"} {
		v := strings.ToLower(query.Get(name))
		if v != "" && v != "true" && v != "false" {
			return api.BadRequest("Invalid value '%s' for '%s' filter.", v, name)
		}
	}
	for _, dir := range query["sort_dir"] {
		if dir != "asc" && dir != "desc" {
			return api.BadRequest("Invalid sort direction: %s", dir)
		}
	}
	return nil
}

// listFilters returns the filters that are not plain attributes. A name that is no attribute is the
// name of a property.
func listFilters(query url.Values) (map[string]api.Filter[view], error) {
	filters := map[string]api.Filter[view]{
		"visibility": nil, "member_status": nil,
		"tag": func(v view, tags []string) bool {
			return !slices.ContainsFunc(tags, func(tag string) bool { return !slices.Contains(v.Tags, tag) })
		},
	}
	for name := range query {
		if filter := propertyFilter(name); filter != nil {
			filters[name] = filter
		}
	}
	for _, add := range []func(url.Values, map[string]api.Filter[view]) error{sizeFilters, timeFilters, wordFilters} {
		if err := add(query, filters); err != nil {
			return nil, err
		}
	}
	return filters, nil
}

func propertyFilter(name string) api.Filter[view] {
	if base(name) || slices.Contains([]string{"tag", "member_status", "size_min", "size_max",
		"limit", "marker", "sort", "sort_key", "sort_dir", "fields"}, name) {
		return nil
	}
	return func(v view, values []string) bool {
		value, ok := v.properties[name]
		return ok && slices.Contains(values, value)
	}
}

func sizeFilters(query url.Values, filters map[string]api.Filter[view]) error {
	for name, sign := range map[string]int64{"size_min": 1, "size_max": -1} {
		text := query.Get(name)
		if text == "" {
			continue
		}
		bound, err := strconv.ParseInt(text, 10, 64)
		if err != nil || bound < 0 {
			return api.BadRequest("Invalid %s value '%s': must be a non-negative integer", name, text)
		}
		filters[name] = func(v view, _ []string) bool { return v.Size != nil && (*v.Size-bound)*sign >= 0 }
	}
	return nil
}

// timeFilters adds the filters that compare created_at and updated_at: "gte:2024-01-01T00:00:00Z".
func timeFilters(query url.Values, filters map[string]api.Filter[view]) error {
	for name, of := range map[string]func(view) time.Time{
		"created_at": func(v view) time.Time { return v.created }, "updated_at": func(v view) time.Time { return v.updated }} {
		text := query.Get(name)
		if text == "" {
			continue
		}
		op, when, ok := strings.Cut(text, ":")
		if !ok || !slices.Contains([]string{"gt", "gte", "eq", "neq", "lt", "lte"}, op) {
			op, when = "eq", text
		}
		bound, err := parseTime(when)
		if err != nil {
			return api.BadRequest("Unable to filter by time: '%s' is not in ISO 8601 format.", when)
		}
		filters[name] = func(v view, _ []string) bool {
			order := of(v).Truncate(time.Second).Compare(bound)
			return map[string]bool{"gt": order > 0, "gte": order >= 0, "eq": order == 0, "neq": order != 0,
				"lt": order < 0, "lte": order <= 0}[op]
		}
	}
	return nil
}

func parseTime(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, http.ErrNotSupported
}

// wordFilters adds the filters with lists after "in:", in which words with a comma are quoted.
func wordFilters(query url.Values, filters map[string]api.Filter[view]) error {
	for name, of := range map[string]func(view) *string{
		"id": func(v view) *string { return &v.ID }, "name": func(v view) *string { return v.Name },
		"status":           func(v view) *string { return &v.Status },
		"container_format": func(v view) *string { return v.ContainerFormat },
		"disk_format":      func(v view) *string { return v.DiskFormat }} {
		rest, ok := strings.CutPrefix(query.Get(name), "in:")
		if !ok {
			continue
		}
		words, err := csv.NewReader(strings.NewReader(rest)).Read()
		if err != nil {
			return api.BadRequest("Invalid filter value %s. The quote is not closed.", rest)
		}
		filters[name] = func(v view, _ []string) bool { return of(v) != nil && slices.Contains(words, *of(v)) }
	}
	return nil
}
