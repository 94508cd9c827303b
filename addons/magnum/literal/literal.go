// Package literal reads Python literals and JSON. Magnum's clients send maps
// and lists inside JSON Patch as text that Magnum gives to
// ast.literal_eval: "{'a': 'b', 'c': True}"; newer ones send
// JSON. One reader takes both.
package literal

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds nesting.
const maxDepth = 16

// Parse reads one literal: nil, bool, int64, float64, string, []any (also for
// tuples) or map[string]any. Keys of maps that are numbers or booleans become
// text.
func Parse(text string) (any, error) {
	p := &parser{text: text}
	value, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if p.space(); p.at < len(p.text) {
		return nil, p.errorf("unexpected %q", p.rest())
	}
	return value, nil
}

type parser struct {
	text string
	at   int
}

func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("at character %d: "+format, append([]any{p.at + 1}, args...)...)
}

func (p *parser) rest() string {
	rest := p.text[p.at:]
	if len(rest) > 10 {
		rest = rest[:10]
	}
	return rest
}

func (p *parser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

func (p *parser) peek() byte {
	if p.space(); p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, p.errorf("nested more than %d deep", maxDepth)
	}
	switch c := p.peek(); {
	case c == '{':
		return p.dict(depth)
	case c == '[':
		return p.list(depth, ']')
	case c == '(':
		return p.list(depth, ')')
	case c == '\'' || c == '"':
		return p.quoted()
	case c == '-' || c == '+' || c >= '0' && c <= '9':
		return p.number()
	}
	return p.word()
}

// word is a constant, or a string with one of Python's prefixes.
func (p *parser) word() (any, error) {
	start := p.at
	for p.at < len(p.text) && (p.text[p.at]|0x20 >= 'a' && p.text[p.at]|0x20 <= 'z') {
		p.at++
	}
	word := p.text[start:p.at]
	if strings.EqualFold(word, "u") && p.at < len(p.text) && (p.text[p.at] == '\'' || p.text[p.at] == '"') {
		return p.quoted()
	}
	switch word {
	case "True", "true":
		return true, nil
	case "False", "false":
		return false, nil
	case "None", "null":
		return nil, nil
	}
	p.at = start
	return nil, p.errorf("unexpected %q", p.rest())
}

func (p *parser) number() (any, error) {
	start := p.at
	for p.at < len(p.text) && strings.IndexByte("+-.eE0123456789_", p.text[p.at]) >= 0 {
		p.at++
	}
	text := strings.ReplaceAll(p.text[start:p.at], "_", "")
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i, nil
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return f, nil
	}
	p.at = start
	return nil, p.errorf("%q is no number", text)
}

func (p *parser) list(depth int, end byte) (any, error) {
	p.at++
	items := []any{}
	for p.peek() != end {
		item, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
		if err := p.separator(end); err != nil {
			return nil, err
		}
	}
	p.at++
	return items, nil
}

func (p *parser) dict(depth int) (any, error) {
	p.at++
	items := map[string]any{}
	for p.peek() != '}' {
		key, err := p.key(depth)
		if err != nil {
			return nil, err
		}
		if p.peek() != ':' {
			return nil, p.errorf("a colon is missing")
		}
		p.at++
		if items[key], err = p.value(depth + 1); err != nil {
			return nil, err
		}
		if err := p.separator('}'); err != nil {
			return nil, err
		}
	}
	p.at++
	return items, nil
}

func (p *parser) key(depth int) (string, error) {
	key, err := p.value(depth + 1)
	if err != nil {
		return "", err
	}
	switch key.(type) {
	case map[string]any, []any, nil:
		return "", p.errorf("a key must be text")
	}
	return Text(key), nil
}

func (p *parser) separator(end byte) error {
	switch p.peek() {
	case ',':
		p.at++
	case end:
	default:
		return p.errorf("a comma or %q is missing", end)
	}
	return nil
}

var errEscape = errors.New("unknown escape")

func (p *parser) quoted() (string, error) {
	quote := p.text[p.at]
	p.at++
	var b strings.Builder
	for p.at < len(p.text) {
		c := p.text[p.at]
		p.at++
		switch c {
		case quote:
			if !utf8.ValidString(b.String()) {
				return "", p.errorf("text is not UTF-8")
			}
			return b.String(), nil
		case '\\':
			if err := p.escape(&b); err != nil {
				return "", p.errorf("%w", err)
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", p.errorf("text without an end")
}

func (p *parser) escape(b *strings.Builder) error {
	if p.at >= len(p.text) {
		return errEscape
	}
	c := p.text[p.at]
	p.at++
	if i := strings.IndexByte(`\'"/nrtbf`, c); i >= 0 {
		b.WriteByte("\\'\"/\n\r\t\b\f"[i])
		return nil
	}
	digits, ok := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if !ok || p.at+digits > len(p.text) {
		return errEscape
	}
	code, err := strconv.ParseUint(p.text[p.at:p.at+digits], 16, 32)
	if err != nil || !utf8.ValidRune(rune(code)) {
		return errEscape
	}
	p.at += digits
	b.WriteRune(rune(code))
	return nil
}

// Text is a scalar as Magnum stores it in labels: booleans as true and false.
func Text(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return ""
}
