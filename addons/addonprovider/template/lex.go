package template

import (
	"fmt"
	"regexp"
	"strings"
)

type kind int

const (
	name kind = iota
	integer
	float
	text
	operator
	end
)

type token struct {
	kind kind
	// value is the text of a name or an operator, the content of a string.
	value string
}

// segment is a piece of a template: literal text, an expression or a statement.
type segment struct {
	what   byte // 't'ext, 'e'xpression, 's'tatement
	text   string
	tokens []token
	line   int
}

// lexer cuts a template into segments, with Jinja2's default settings: the whitespace around blocks
// is kept unless a minus says otherwise, and one line break at the end of the template is dropped.
type lexer struct {
	source   string
	at       int
	segments []segment
	// trim drops whitespace at the beginning of the next text.
	trim bool
}

var (
	rawBegin = regexp.MustCompile(`^\{%[-+]?\s*raw\s*(-?)%\}`)
	rawEnd   = regexp.MustCompile(`\{%([-+]?)\s*endraw\s*(-?)%\}`)
	word     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*`)
	number   = regexp.MustCompile(`^(?:[0-9](?:_?[0-9])*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)`)
	symbol   = regexp.MustCompile(`^(?:\*\*|//|==|!=|<=|>=|[-+*/%~<>=()\[\]{},.:|;])`)
)

const space = " \t\n\r\v\f"

func lex(source string) ([]segment, error) {
	source = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(source)
	l := &lexer{source: strings.TrimSuffix(source, "\n")}
	for l.at < len(l.source) {
		open := l.opening()
		l.literal(l.source[l.at:open], strings.HasPrefix(l.source[min(open+2, len(l.source)):], "-"))
		l.at = open
		if open == len(l.source) {
			break
		}
		if err := l.block(); err != nil {
			return nil, fmt.Errorf("line %d: %w", l.line(), err)
		}
	}
	return l.segments, nil
}

func (l *lexer) line() int { return 1 + strings.Count(l.source[:min(l.at, len(l.source))], "\n") }

// opening is where the next block begins, or the end.
func (l *lexer) opening() int {
	for i := l.at; i+1 < len(l.source); i++ {
		if l.source[i] == '{' && strings.IndexByte("{%#", l.source[i+1]) >= 0 {
			return i
		}
	}
	return len(l.source)
}

func (l *lexer) literal(content string, trimEnd bool) {
	if l.trim {
		content = strings.TrimLeft(content, space)
	}
	l.trim = false
	if trimEnd {
		content = strings.TrimRight(content, space)
	}
	if content != "" {
		l.segments = append(l.segments, segment{what: 't', text: content, line: l.line()})
	}
}

func (l *lexer) block() error {
	rest := l.source[l.at:]
	switch {
	case rest[1] == '#':
		return l.comment(rest)
	case rawBegin.MatchString(rest):
		return l.raw(rest)
	case rest[1] == '{':
		return l.tokens('e', "}}")
	}
	return l.tokens('s', "%}")
}

func (l *lexer) comment(rest string) error {
	length := strings.Index(rest[2:], "#}")
	if length < 0 {
		return fmt.Errorf("a comment is not closed")
	}
	l.trim = strings.HasSuffix(rest[2:2+length], "-")
	l.at += length + 4
	return nil
}

func (l *lexer) raw(rest string) error {
	begin := rawBegin.FindStringSubmatch(rest)
	body := rest[len(begin[0]):]
	closing := rawEnd.FindStringSubmatchIndex(body)
	if closing == nil {
		return fmt.Errorf("raw is not closed by endraw")
	}
	l.trim = begin[1] == "-"
	l.literal(body[:closing[0]], body[closing[2]:closing[3]] == "-")
	l.trim = body[closing[4]:closing[5]] == "-"
	l.at += len(begin[0]) + closing[1]
	return nil
}

// tokens reads the inside of a block. The end of a block does not count within brackets, so that a
// dictionary may end right before it.
func (l *lexer) tokens(what byte, closing string) error {
	s := segment{what: what, line: l.line()}
	l.at += 2
	if l.at < len(l.source) && strings.IndexByte("-+", l.source[l.at]) >= 0 {
		l.at++
	}
	depth := 0
	for {
		rest := strings.TrimLeft(l.source[l.at:], space)
		l.at = len(l.source) - len(rest)
		if depth == 0 && (strings.HasPrefix(rest, closing) || strings.HasPrefix(rest, "-"+closing)) {
			l.trim = rest[0] == '-'
			l.at += strings.Index(rest, closing) + 2
			l.segments = append(l.segments, s)
			return nil
		}
		if rest == "" {
			return fmt.Errorf("a block is not closed by %s", closing)
		}
		t, length, err := next(rest)
		if err != nil {
			return err
		}
		if t.kind == operator {
			depth += depthOf(t.value)
		}
		s.tokens = append(s.tokens, t)
		l.at += length
	}
}

func depthOf(operator string) int {
	switch operator {
	case "(", "[", "{":
		return 1
	case ")", "]", "}":
		return -1
	}
	return 0
}

func next(rest string) (token, int, error) {
	if rest[0] == '"' || rest[0] == '\'' {
		return quoted(rest)
	}
	if m := word.FindString(rest); m != "" {
		return token{name, m}, len(m), nil
	}
	if m := number.FindString(rest); m != "" {
		k := integer
		if strings.ContainsAny(m, ".eE") {
			k = float
		}
		return token{k, strings.ReplaceAll(m, "_", "")}, len(m), nil
	}
	if m := symbol.FindString(rest); m != "" {
		return token{operator, m}, len(m), nil
	}
	return token{}, 0, fmt.Errorf("unexpected character %q", []rune(rest)[0])
}

// quoted reads a string with Python's escapes.
func quoted(rest string) (token, int, error) {
	var b strings.Builder
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case rest[0]:
			return token{text, b.String()}, i + 1, nil
		case '\\':
			if i+1 == len(rest) {
				return token{}, 0, fmt.Errorf("a string is not closed")
			}
			i++
			b.WriteString(unescape(rest[i]))
		default:
			b.WriteByte(rest[i])
		}
	}
	return token{}, 0, fmt.Errorf("a string is not closed")
}

func unescape(c byte) string {
	switch c {
	case 'n':
		return "\n"
	case 't':
		return "\t"
	case 'r':
		return "\r"
	case '\\', '\'', '"':
		return string(c)
	case '\n':
		return ""
	}
	return `\` + string(c)
}
