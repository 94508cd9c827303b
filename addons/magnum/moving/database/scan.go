package database

import (
	"fmt"
	"strings"
)

// scanner goes through the text of a dump.
type scanner struct {
	text string
	at   int
}

// syntaxError is a place where the dump is not what its program writes.
type syntaxError struct {
	line int
	what string
}

// Error names the line.
func (e *syntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.what) }

func (s *scanner) wrong(format string, args ...any) error {
	return &syntaxError{1 + strings.Count(s.text[:min(s.at, len(s.text))], "\n"), fmt.Sprintf(format, args...)}
}

func (s *scanner) end() bool { return s.at >= len(s.text) }

func (s *scanner) rest() string { return s.text[s.at:] }

// space goes over white space and comments, also those that MySQL would execute:
// they only set variables.
func (s *scanner) space() {
	for !s.end() {
		switch rest := s.rest(); {
		case strings.ContainsRune(" \t\r\n", rune(rest[0])):
			s.at++
		case strings.HasPrefix(rest, "--"):
			s.line()
		case strings.HasPrefix(rest, "/*"):
			length := strings.Index(rest, "*/")
			if length < 0 {
				s.at = len(s.text)
				return
			}
			s.at += length + 2
		default:
			return
		}
	}
}

// line returns the rest of the line and goes behind it.
func (s *scanner) line() string {
	text, _, found := strings.Cut(s.rest(), "\n")
	s.at += len(text)
	if found {
		s.at++
	}
	return strings.TrimSuffix(text, "\r")
}

// take goes over a word or sign, if it is next.
func (s *scanner) take(word string) bool {
	s.space()
	if rest := s.rest(); len(rest) < len(word) || !strings.EqualFold(rest[:len(word)], word) {
		return false
	}
	s.at += len(word)
	return true
}

func isName(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// name reads an identifier with or without quotes, and without its schema.
func (s *scanner) name() (string, error) {
	s.space()
	name := ""
	switch {
	case s.end():
		return "", s.wrong("the dump ends in a statement")
	case s.text[s.at] == '`' || s.text[s.at] == '"':
		quote := s.text[s.at]
		length := strings.IndexByte(s.text[s.at+1:], quote)
		if length < 0 {
			return "", s.wrong("a name has no end")
		}
		name = s.text[s.at+1 : s.at+1+length]
		s.at += length + 2
	default:
		from := s.at
		for !s.end() && isName(s.text[s.at]) {
			s.at++
		}
		name = s.text[from:s.at]
	}
	if name == "" {
		return "", s.wrong("a name is missing")
	}
	if !s.end() && s.text[s.at] == '.' {
		s.at++
		return s.name()
	}
	return name, nil
}

// names reads a list of names in parentheses.
func (s *scanner) names() ([]string, error) {
	if !s.take("(") {
		return nil, s.wrong("a list of columns is missing")
	}
	var all []string
	for {
		name, err := s.name()
		if err != nil {
			return nil, err
		}
		all = append(all, name)
		if s.take(")") {
			return all, nil
		}
		if !s.take(",") {
			return nil, s.wrong("a list of columns has no end")
		}
	}
}

// quoted reads a text in single quotes by MySQL's rules, which are those of the
// standard where there is no backslash.
func (s *scanner) quoted() (string, error) {
	var value strings.Builder
	for s.at++; !s.end(); s.at++ {
		c := s.text[s.at]
		next := byte(0)
		if s.at+1 < len(s.text) {
			next = s.text[s.at+1]
		}
		switch {
		case c == '\'' && next == '\'':
			s.at++
		case c == '\'':
			s.at++
			return value.String(), nil
		case c == '\\':
			s.at++
			c = unescaped(next)
		}
		value.WriteByte(c)
	}
	return "", s.wrong("a text has no end")
}

// unescaped is what a character after a backslash stands for.
func unescaped(c byte) byte {
	switch c {
	case '0':
		return 0
	case 'b':
		return '\b'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'Z':
		return 26
	case 'f':
		return '\f'
	case 'v':
		return '\v'
	}
	return c
}

// skip goes behind the end of the statement, over texts and names in quotes.
func (s *scanner) skip() error {
	for depth := 0; !s.end(); {
		switch c := s.text[s.at]; {
		case c == '\'':
			if _, err := s.quoted(); err != nil {
				return err
			}
			continue
		case c == '`' || c == '"':
			length := strings.IndexByte(s.text[s.at+1:], c)
			if length < 0 {
				return s.wrong("a name has no end")
			}
			s.at += length + 1
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ';' && depth <= 0:
			s.at++
			return nil
		}
		s.at++
	}
	return s.wrong("a statement has no end")
}
