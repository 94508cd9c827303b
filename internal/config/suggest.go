package config

import (
	"reflect"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/suggest"
)

// didYouMean is the remedy for an unknown key: the nearest of the keys that are
// known there, else the place in the document where a key of that name or one
// like it belongs, else the list of known ones.
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
			return name + " is known as " + path
		}
	}
	if len(names) == 0 {
		return "remove it: there are no settings here yet"
	}
	return "known here: " + strings.Join(names, ", ")
}

// paths lists the path of every key below a type; elements of lists and of
// maps are [].
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
