// Package pattern matches paths of requests as Keystone's access rules do.
package pattern

import (
	"fmt"
	"regexp"
	"strings"
)

// Pattern is a compiled path pattern.
type Pattern struct{ expression *regexp.Regexp }

// Compile reads a pattern: "*" and "{anything}" stand for one segment or a
// part of one, "**" for any number of segments, all else for itself.
func Compile(text string) (Pattern, error) {
	var b strings.Builder
	for rest := text; rest != ""; {
		switch {
		case strings.HasPrefix(rest, "**"):
			b.WriteString(".*")
			rest = rest[2:]
		case rest[0] == '*':
			b.WriteString("[^/]+")
			rest = rest[1:]
		case rest[0] == '{':
			end := strings.IndexByte(rest, '}')
			if end < 0 {
				return Pattern{}, fmt.Errorf("path pattern %q: brace is not closed", text)
			}
			b.WriteString("[^/]+")
			rest = rest[end+1:]
		default:
			literal := rest
			if end := strings.IndexAny(rest, "*{"); end >= 0 {
				literal = rest[:end]
			}
			b.WriteString(regexp.QuoteMeta(literal))
			rest = rest[len(literal):]
		}
	}
	expression, err := regexp.Compile("^" + b.String() + "$")
	if err != nil {
		return Pattern{}, fmt.Errorf("path pattern %q: %w", text, err)
	}
	return Pattern{expression}, nil
}

// Match reports whether the whole path matches.
func (p Pattern) Match(path string) bool {
	return p.expression != nil && p.expression.MatchString(path)
}

// Match compiles the pattern and matches the path; a bad pattern matches
// nothing.
func Match(text, path string) bool {
	p, err := Compile(text)
	return err == nil && p.Match(path)
}
