// Package flect replaces the inflection library by which Cluster API names the plural of a kind.
// The original builds its dictionaries of English when the program starts, which costs every
// command 5 MiB of memory; kinds need only a few of its rules.
package flect

import "strings"

// Pluralize returns the plural of a kind's name, in the same case.
func Pluralize(kind string) string {
	lower := strings.ToLower(kind)
	switch {
	case kind == "", ends(lower, "information", "data"):
		return kind
	case ends(lower, "ss", "us", "x", "ch", "sh"):
		return kind + "es"
	case ends(lower, "s"):
		return kind
	case ends(lower, "y") && !ends(lower, "ay", "ey", "iy", "oy", "uy"):
		return kind[:len(kind)-1] + "ies"
	}
	return kind + "s"
}

func ends(word string, with ...string) bool {
	for _, end := range with {
		if strings.HasSuffix(word, end) {
			return true
		}
	}
	return false
}
