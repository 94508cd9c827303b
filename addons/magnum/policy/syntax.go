package policy

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// checkSyntax returns one error for each rule that does not parse, in the order
// of their names. The library stops at the first of a map, tells a column that
// depends on chance and leaves a goroutine behind; so it is given good rules only.
func checkSyntax(rules map[string]string) error {
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		if err := checkRule(rules[name]); err != nil {
			wrong = append(wrong, fmt.Errorf("rule %s: %w", name, err))
		}
	}
	return errors.Join(wrong...)
}

// token is a word of a rule: its text, and its column from 1.
type token struct {
	text   string
	column int
}

// A rule's words are brackets and colons, quoted texts (in which a backslash
// escapes), variables like %(user_id)s, and what is between blanks.
var (
	word     = regexp.MustCompile(`[():]|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|%\([^ \t)]*\)s|[^ \t():]+`)
	variable = regexp.MustCompile(`^%\(`)
	constant = regexp.MustCompile(`^(?:".*"|'.*'|[-+]?\d+|True|False)$`)
)

// syntax walks over the words of one rule.
type syntax struct {
	words []token
	end   int // the column behind the rule
}

// checkRule checks one rule against the grammar of oslo.policy, as the library has it:
//
//	rule  = check { ("and" | "or") check }
//	check = "not" check | "(" rule ")" | "@" | "!" | name ":" (name | constant | variable) | constant ":" variable
func checkRule(rule string) error {
	s := syntax{end: len(rule) + 1}
	for _, at := range word.FindAllStringIndex(rule, -1) {
		s.words = append(s.words, token{rule[at[0]:at[1]], at[0] + 1})
	}
	if err := s.rule(); err != nil {
		return err
	}
	if len(s.words) > 0 {
		return s.wanted(`"and" or "or"`)
	}
	return nil
}

func (s *syntax) rule() error {
	for {
		if err := s.check(); err != nil {
			return err
		}
		if !s.take("and") && !s.take("or") {
			return nil
		}
	}
}

func (s *syntax) check() error {
	switch {
	case s.take("not"):
		return s.check()
	case s.take("@"), s.take("!"):
		return nil
	case s.take("("):
		if err := s.rule(); err != nil {
			return err
		}
		if !s.take(")") {
			return s.wanted(`")"`)
		}
		return nil
	}
	return s.comparison()
}

// comparison is a check with a colon: role:admin, project_id:%(project_id)s.
func (s *syntax) comparison() error {
	left := s.next()
	if !isName(left) && !constant.MatchString(left) {
		return s.wanted("a check like role:member")
	}
	s.words = s.words[1:]
	if !s.take(":") {
		return s.wanted(fmt.Sprintf(`":" behind %s`, left))
	}
	right := s.next()
	if !variable.MatchString(right) && (constant.MatchString(left) || !isName(right) && !constant.MatchString(right)) {
		return s.wanted(fmt.Sprintf("what %s is compared with", left))
	}
	s.words = s.words[1:]
	return nil
}

// isName reports whether a word is none of the language's, as the kind of a check is, or a role.
// One that begins with a quote is a text without its end.
func isName(text string) bool {
	return text != "" && !strings.ContainsAny(text[:1], `"'():`) && !variable.MatchString(text) && !constant.MatchString(text) &&
		!slices.Contains([]string{"and", "or", "not", "@", "!"}, text)
}

// next is the next word; empty at the end.
func (s *syntax) next() string {
	if len(s.words) == 0 {
		return ""
	}
	return s.words[0].text
}

// take goes on if the next word is this one.
func (s *syntax) take(text string) bool {
	if s.next() != text {
		return false
	}
	s.words = s.words[1:]
	return true
}

// wanted is the error that something else is, or nothing, where what is wanted.
func (s *syntax) wanted(what string) error {
	if len(s.words) == 0 {
		return fmt.Errorf("column %d: %s is missing at the end", s.end, what)
	}
	return fmt.Errorf("column %d: %s was expected, not %q", s.words[0].column, what, s.next())
}
