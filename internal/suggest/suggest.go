// Package suggest finds the word that someone meant.
package suggest

import (
	"slices"
	"strings"
)

// Nearest is the candidate that takes the fewest typing mistakes, at most one
// in three characters, else the only one that begins with the word; "" if
// there is none.
func Nearest(word string, candidates []string) string {
	best, least := "", len(word)/3+1
	for _, candidate := range candidates {
		if distance := Distance(strings.ToLower(word), strings.ToLower(candidate)); distance < least {
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

// Distance counts the bytes to insert, remove or replace to make one word of
// the other (Levenshtein).
func Distance(a, b string) int {
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
