package network

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
)

// owned is what every resource to create may say.
type owned struct {
	ProjectID api.Optional[string]   `json:"project_id"`
	TenantID  api.Optional[string]   `json:"tenant_id"`
	Tags      api.Optional[[]string] `json:"tags"`
}

// project is the project that the resource will belong to.
func (o owned) project(p *api.Principal) (string, error) {
	asked := o.ProjectID.Or(o.TenantID.Or(""))
	switch {
	case asked == "" && p != nil:
		return p.ProjectID, nil
	case !isAdmin(p) && asked != p.ProjectID:
		return "", api.BadRequest("Specifying 'project_id' or 'tenant_id' other than the authenticated project in request requires admin privileges")
	}
	return asked, nil
}

// items returns the objects of a body to create: one under the key, or
// several under the collection's.
func items(c *api.Call, one, many string) (list []json.RawMessage, bulk bool, err error) {
	var body map[string]json.RawMessage
	if err := c.Decode(&body); err != nil {
		return nil, false, err
	}
	if raw, ok := body[many]; ok {
		if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
			return nil, true, api.BadRequest("Resources required")
		}
		return list, true, nil
	}
	raw, ok := body[one]
	if !ok {
		return nil, false, api.BadRequest("Unable to find '%s' in request body", one)
	}
	return []json.RawMessage{raw}, false, nil
}

// decodeInto reads an object into a pointer to a struct, field by field, so
// that errors name the attribute. Attributes that only the view has are said
// to be read-only.
func decodeInto(raw json.RawMessage, into any, view reflect.Type, method string) error {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil || object == nil {
		return api.BadRequest("Request body is not an object: %s", raw)
	}
	target := reflect.ValueOf(into).Elem()
	known := jsonFields(target.Type())
	var unknown []string
	for name, value := range object {
		index, ok := known[name]
		if !ok {
			unknown = append(unknown, name)
			continue
		}
		if json.Unmarshal(value, target.FieldByIndex(index).Addr().Interface()) != nil {
			if field := target.FieldByIndex(index).Type(); field == reflect.TypeFor[api.Optional[bool]]() || field.Kind() == reflect.Bool {
				return invalid("'%s' cannot be converted to boolean", unquote(value))
			}
			return api.BadRequest("Invalid input for %s. Reason: '%s' is not of the right type.", name, unquote(value))
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	if _, shown := jsonFields(view)[unknown[0]]; !shown {
		return api.BadRequest("Unrecognized attribute(s) '%s'", strings.Join(unknown, ", "))
	}
	if method == http.MethodPost {
		return api.BadRequest("Attribute '%s' not allowed in POST", unknown[0])
	}
	return api.BadRequest("Cannot update read-only attribute %s", unknown[0])
}

func jsonFields(t reflect.Type) map[string][]int {
	fields := map[string][]int{}
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "-" && field.IsExported() {
			fields[name] = field.Index
		}
	}
	return fields
}

func unquote(value json.RawMessage) string { return strings.Trim(string(value), `"`) }

// require refuses a body without an attribute.
func require(name string, set bool) error {
	if set {
		return nil
	}
	return api.BadRequest("Failed to parse request. Required attribute '%s' not specified", name)
}

// oneOf refuses a value that is none of those allowed.
func oneOf(name, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return api.BadRequest("Invalid input for %s. Reason: '%s' is not in ['%s'].", name, value, strings.Join(allowed, "', '"))
}

// between refuses a number outside of a range.
func between(name string, value, low, high int) error {
	switch {
	case value < low:
		return api.BadRequest("Invalid input for %s. Reason: '%d' is too small - must be at least '%d'.", name, value, low)
	case value > high:
		return api.BadRequest("Invalid input for %s. Reason: '%d' is too large - must be no larger than '%d'.", name, value, high)
	}
	return nil
}

// lengths refuses texts that the database has no room for.
func lengths(name, description string) error {
	for _, field := range []struct{ name, value string }{{"name", name}, {"description", description}} {
		if len(field.value) > 255 {
			return api.BadRequest("Invalid input for %s. Reason: '%s' exceeds maximum length of 255.", field.name, field.value)
		}
	}
	return nil
}

// pointer sets a field that is null in the model when it is in the API.
func pointer[T any](o api.Optional[T], target **T) {
	switch {
	case !o.Set:
	case o.Null:
		*target = nil
	default:
		value := o.Value
		*target = &value
	}
}

// text is what a pointer points at, empty for nil.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// list is a slice that is never null in JSON.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
