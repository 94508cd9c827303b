package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// Tags serves the tags of one kind of resource.
type Tags struct {
	// Path is the path of the resource: "/v2.0/networks/{id}".
	Path        string
	Read, Write Role
	// Get returns the tags of the resource in the call's path, or an *Error.
	Get func(c *Call, r store.Reader) ([]string, error)
	// Put replaces the tags; Get has found the resource before.
	Put func(c *Call, tx *store.Tx, tags []string)
	// Max is the maximum length of a tag in characters.
	Max int
}

// Routes are list, replace and clear, and check, add and remove one tag.
func (t Tags) Routes() []Route {
	all, one := t.Path+"/tags", t.Path+"/tags/{tag}"
	return []Route{
		{"GET " + all, t.Read, t.list},
		{"PUT " + all, t.Write, t.replace},
		{"DELETE " + all, t.Write, func(c *Call) error { return t.edit(c, http.StatusNoContent, nil) }},
		{"GET " + one, t.Read, t.check},
		{"PUT " + one, t.Write, t.add},
		{"DELETE " + one, t.Write, t.remove},
	}
}

func (t Tags) list(c *Call) error {
	return c.View(func(r store.Reader) error {
		tags, err := t.Get(c, r)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"tags": append([]string{}, tags...)})
	})
}

func (t Tags) check(c *Call) error {
	return c.View(func(r store.Reader) error {
		tags, err := t.Get(c, r)
		if err != nil {
			return err
		}
		if !slices.Contains(tags, c.Path("tag")) {
			return NotFound("Tag %s could not be found.", c.Path("tag"))
		}
		return c.Reply(http.StatusNoContent, nil)
	})
}

func (t Tags) replace(c *Call) error {
	var in struct {
		Tags []string `json:"tags"`
	}
	if err := c.Decode(&in); err != nil {
		return err
	}
	for _, tag := range in.Tags {
		if err := t.valid(tag); err != nil {
			return err
		}
	}
	tags := slices.Compact(slices.Sorted(slices.Values(in.Tags)))
	if err := t.edit(c, http.StatusOK, func([]string) ([]string, error) { return tags, nil }); err != nil {
		return err
	}
	return c.Reply(http.StatusOK, map[string]any{"tags": append([]string{}, tags...)})
}

func (t Tags) add(c *Call) error {
	tag := c.Path("tag")
	if err := t.valid(tag); err != nil {
		return err
	}
	return t.edit(c, http.StatusCreated, func(tags []string) ([]string, error) {
		if slices.Contains(tags, tag) {
			return tags, nil
		}
		return append(slices.Clone(tags), tag), nil
	})
}

func (t Tags) remove(c *Call) error {
	return t.edit(c, http.StatusNoContent, func(tags []string) ([]string, error) {
		i := slices.Index(tags, c.Path("tag"))
		if i < 0 {
			return nil, NotFound("Tag %s could not be found.", c.Path("tag"))
		}
		return slices.Delete(slices.Clone(tags), i, i+1), nil
	})
}

func (t Tags) edit(c *Call, status int, change func([]string) ([]string, error)) error {
	return c.Update(func(tx *store.Tx) error {
		tags, err := t.Get(c, tx)
		if err != nil {
			return err
		}
		var changed []string
		if change != nil {
			if changed, err = change(tags); err != nil {
				return err
			}
		}
		t.Put(c, tx, changed)
		return c.Reply(status, nil)
	})
}

func (t Tags) valid(tag string) error {
	if tag == "" || len(tag) > t.Max || strings.ContainsAny(tag, ",/") {
		return BadRequest("Invalid input for tag %q: 1 to %d characters, without comma and slash.", tag, t.Max)
	}
	return nil
}

// TagFilters are the query parameters tags, tags-any, not-tags and not-tags-any, whose value is a
// list of tags separated by commas.
func TagFilters[T any](tags func(T) []string) map[string]Filter[T] {
	count := func(item T, values []string) (found, asked int) {
		for _, tag := range strings.Split(strings.Join(values, ","), ",") {
			asked++
			if slices.Contains(tags(item), tag) {
				found++
			}
		}
		return found, asked
	}
	return map[string]Filter[T]{
		"tags":         func(item T, values []string) bool { found, asked := count(item, values); return found == asked },
		"tags-any":     func(item T, values []string) bool { found, _ := count(item, values); return found > 0 },
		"not-tags":     func(item T, values []string) bool { found, asked := count(item, values); return found < asked },
		"not-tags-any": func(item T, values []string) bool { found, _ := count(item, values); return found == 0 },
	}
}
