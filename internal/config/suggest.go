package config

import (
	"reflect"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/suggest"
)

// didYouMean returns the remedy for an unknown key: the most similar known key of the
// same map, else the place in the document where a key of that or a similar name
// belongs, else the list of known keys.
func didYouMean(key string, known []entry, root reflect.Type) string {
	var names []string
	for _, e := range known {
		names = append(names, e.name)
	}
	if near := suggest.Nearest(key, names); near != "" {
		return "did you mean " + near + "?"
	}
	for _, path := range paths(root, nil) {
		if name := path[strings.LastIndex(path, ".")+1:]; name == key || len(key) > 4 && suggest.Distance(name, key) == 1 {
			return name + " belongs at " + path
		}
	}
	if len(names) == 0 {
		return "remove it: this map has no keys yet"
	}
	return "known here: " + strings.Join(names, ", ")
}

// paths lists the paths of all keys below a type; elements of lists and maps are
// written [].
func paths(t reflect.Type, at []string) []string {
	if t.Kind() == reflect.Pointer {
		return paths(t.Elem(), at)
	}
	if (t.Kind() == reflect.Slice || t.Kind() == reflect.Map) && !isText(t) {
		if len(at) > 0 {
			at = append(slices.Clone(at[:len(at)-1]), at[len(at)-1]+"[]")
		}
		return paths(t.Elem(), at)
	}
	if t.Kind() != reflect.Struct || isText(t) {
		return nil
	}
	var all []string
	for _, e := range entries(t) {
		path := append(slices.Clone(at), e.name)
		all = append(all, strings.Join(path, "."))
		all = append(all, paths(e.typ, path)...)
	}
	return all
}
