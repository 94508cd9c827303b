package identity

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
)

// decodeExtra reads the object under the key; attributes that T does not
// know are returned too, because Keystone keeps them with the resource.
func decodeExtra[T any](c *api.Call, key string) (in T, extra map[string]any, err error) {
	var raw json.RawMessage
	if err := c.DecodeIn(key, &raw); err != nil {
		return in, nil, err
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return in, nil, api.BadRequest("Invalid input for %s: %v", key, err)
	}
	if err := json.Unmarshal(raw, &extra); err != nil {
		return in, nil, api.BadRequest("Invalid input for %s: it is not an object.", key)
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		delete(extra, name)
	}
	delete(extra, "id")
	delete(extra, "links")
	return in, extra, nil
}

// flatten adds extra attributes to a view; they never hide an attribute of the view.
func flatten(view any, extra map[string]any) any {
	if len(extra) == 0 {
		return view
	}
	text, err := json.Marshal(view)
	if err != nil {
		return view
	}
	all := maps.Clone(extra)
	if json.Unmarshal(text, &all) != nil {
		return view
	}
	return all
}

// merge returns the extra attributes after an update; null removes an attribute.
func merge(extra, changes map[string]any) map[string]any {
	merged := map[string]any{}
	maps.Copy(merged, extra)
	for name, value := range changes {
		merged[name] = value
		if value == nil {
			delete(merged, name)
		}
	}
	return merged
}

// object returns a map that is never null in JSON.
func object(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}
