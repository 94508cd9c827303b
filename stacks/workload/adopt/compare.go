package adopt

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
)

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// unlike is a place where an object does not have what is wanted.
type unlike struct {
	path      string
	want, has any
}

// within compares what is wanted with what an object has, and returns where it has
// something else. What is only in the object is not looked at: API servers fill in
// defaults. Numbers, durations, and empty and missing values are compared by what they
// mean.
func within(path string, want, has any) []unlike {
	if nothing(want) && nothing(has) {
		return nil
	}
	switch w := want.(type) {
	case map[string]any:
		h, ok := has.(map[string]any)
		if !ok && !nothing(has) {
			return []unlike{{path, want, has}}
		}
		var all []unlike
		for _, key := range sortedKeys(w) {
			if skipped(path, key, h) {
				continue
			}
			all = append(all, within(below(path, key), w[key], h[key])...)
		}
		return all
	case []any:
		h, ok := has.([]any)
		if !ok || len(h) != len(w) {
			return []unlike{{path, want, has}}
		}
		var all []unlike
		for i := range w {
			all = append(all, within(fmt.Sprintf("%s[%d]", path, i), w[i], h[i])...)
		}
		return all
	}
	if path != "" && strings.HasSuffix(path, "Ref.apiVersion") && group(want) == group(has) {
		return nil // Cluster API follows the newest version of a kind
	}
	if same(want, has) {
		return nil
	}
	return []unlike{{path, want, has}}
}

func below(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// skipped leaves out what references need not say: their namespace is their owner's.
func skipped(path, key string, has map[string]any) bool {
	_, there := has[key]
	return key == "namespace" && strings.HasSuffix(path, "Ref") && !there
}

// group is the API group of a version.
func group(version any) string {
	text, _ := version.(string)
	name, _, _ := strings.Cut(text, "/")
	return name
}

// nothing reports whether a value says nothing. In the APIs compared here false, 0 and ""
// are what is meant where nothing is said.
func nothing(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		for _, one := range v {
			if !nothing(one) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	return reflect.ValueOf(value).IsZero()
}

func same(want, has any) bool {
	if a, number := float(want); number {
		b, also := float(has)
		return also && a == b
	}
	x, text := want.(string)
	y, also := has.(string)
	if text && also && x != y {
		a, err := time.ParseDuration(x)
		b, failed := time.ParseDuration(y)
		return err == nil && failed == nil && a == b
	}
	if text != also { // kubelet's arguments are text, whatever somebody wrote in YAML
		return fmt.Sprint(want) == fmt.Sprint(has)
	}
	return reflect.DeepEqual(want, has)
}

// float is a number, however YAML or JSON gave it.
func float(value any) (float64, bool) {
	switch n := value.(type) {
	case float64:
		return n, !math.IsNaN(n)
	case int64:
		return float64(n), true
	case int:
		return float64(n), true
	}
	return 0, false
}

// plain gives Secret data one form: stringData is data before the API server has seen it.
func plain(object map[string]any) map[string]any {
	data := map[string]any{}
	if given, ok := object["data"].(map[string]any); ok {
		maps.Copy(data, given)
	}
	if given, ok := object["stringData"].(map[string]any); ok {
		for key, value := range given {
			data[key] = base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(value)))
		}
	}
	return data
}
