package config

import (
	"reflect"
	"slices"
	"strings"
)

// suggest is the remedy for an unknown key: the nearest of the keys that are
// known there, else the place where a key of that name or one like it belongs,
// else the list of known ones.
func suggest(key string, known []entry) string {
	var names []string
	for _, e := range known {
		names = append(names, e.name)
	}
	if near := nearest(key, names); near != "" {
		return "did you mean " + near + "?"
	}
	for _, path := range paths(reflect.TypeFor[Environment](), nil) {
		if name := path[strings.LastIndex(path, ".")+1:]; name == key || len(key) > 4 && editDistance(name, key) == 1 {
			return name + " is known as " + path
		}
	}
	if len(names) == 0 {
		return "remove it: there are no settings here yet"
	}
	return "known here: " + strings.Join(names, ", ")
}

// nearest is the candidate that takes the fewest typing mistakes, at most one
// in three characters, else the only one that begins with the word; "" if
// there is none.
func nearest(word string, candidates []string) string {
	best, least := "", len(word)/3+1
	for _, candidate := range candidates {
		if distance := editDistance(strings.ToLower(word), strings.ToLower(candidate)); distance < least {
			best, least = candidate, distance
		}
	}
	if best != "" || word == "" {
		return best
	}
	longer := slices.DeleteFunc(slices.Clone(candidates), func(c string) bool { return !strings.HasPrefix(c, word) })
	if len(longer) == 1 {
		return longer[0]
	}
	return ""
}

// editDistance counts the characters to insert, remove or replace (Levenshtein).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
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
