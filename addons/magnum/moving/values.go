package moving

import (
	"maps"
	"reflect"
	"slices"
)

// differences are the values that differ, by path. A value that only one side has
// differs unless it says nothing: null, or an empty list or table.
func differences(path string, has, want any) []Difference {
	h, isTable := has.(map[string]any)
	w, wantsTable := want.(map[string]any)
	if isTable && (wantsTable || want == nil) || wantsTable && has == nil {
		var all []Difference
		keys := map[string]bool{}
		for key := range h {
			keys[key] = true
		}
		for key := range w {
			keys[key] = true
		}
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			below := key
			if path != "" {
				below = path + "." + key
			}
			all = append(all, differences(below, h[key], w[key])...)
		}
		return all
	}
	if same(has, want) {
		return nil
	}
	return []Difference{{path, has, want}}
}

func same(has, want any) bool {
	if nothing(has) && nothing(want) {
		return true
	}
	a, number := integer(has)
	if b, also := integer(want); number && also {
		return a == b
	}
	x, list := has.([]any)
	if y, also := want.([]any); list && also {
		return slices.EqualFunc(x, y, func(a, b any) bool { return len(differences("", a, b)) == 0 })
	}
	return reflect.DeepEqual(has, want)
}

func nothing(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case []any:
		return len(value) == 0
	case string:
		return value == ""
	}
	return false
}
