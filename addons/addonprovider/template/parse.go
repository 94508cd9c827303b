package template

import (
	"fmt"
	"slices"
)

// maxDepth bounds how deep expressions and blocks nest.
const maxDepth = 100

// node is a piece of a parsed template.
type node interface {
	render(*run) error
}

type (
	literal string
	output  struct {
		line  int
		value expression
	}
	branch struct { // if
		line       int
		conditions []expression
		bodies     [][]node // one more than conditions where there is an else
	}
	loop struct { // for
		line      int
		names     []string
		list      expression
		condition expression // may be nil
		body      []node
		otherwise []node
	}
	assignment struct { // set
		line  int
		names []string
		value expression // nil where body is the value
		body  []node
	}
)

type parser struct {
	segments []segment
	at       int
	depth    int
}

func parse(source string) ([]node, error) {
	segments, err := lex(source)
	if err != nil {
		return nil, err
	}
	p := &parser{segments: segments}
	nodes, err := p.until()
	if err == nil && p.at < len(p.segments) {
		err = fmt.Errorf("unexpected %s", p.keyword())
	}
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", p.line(), err)
	}
	return nodes, nil
}

func (p *parser) line() int {
	if len(p.segments) == 0 {
		return 1
	}
	return p.segments[min(p.at, len(p.segments)-1)].line
}

// keyword is the first word of the statement at hand, or "".
func (p *parser) keyword() string {
	if p.at >= len(p.segments) {
		return ""
	}
	s := p.segments[p.at]
	if s.what != 's' || len(s.tokens) == 0 || s.tokens[0].kind != name {
		return ""
	}
	return s.tokens[0].value
}

// until parses up to a statement that begins with one of the words, or to the end if there are no
// words.
func (p *parser) until(words ...string) ([]node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("blocks nest too deep")
	}
	defer func() { p.depth-- }()
	var nodes []node
	for p.at < len(p.segments) {
		s := p.segments[p.at]
		var n node
		var err error
		switch s.what {
		case 't':
			n = literal(s.text)
			p.at++
		case 'e':
			n, err = p.output(s)
		default:
			word := p.keyword()
			if slices.Contains(words, word) || word == "" || closing(word) {
				if len(words) == 0 || !slices.Contains(words, word) {
					return nil, fmt.Errorf("unexpected statement %q", word)
				}
				return nodes, nil
			}
			n, err = p.statement(word, s)
		}
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	if len(words) > 0 {
		return nil, fmt.Errorf("%s is missing", words[len(words)-1])
	}
	return nodes, nil
}

func closing(word string) bool {
	return slices.Contains([]string{"elif", "else", "endif", "endfor", "endset"}, word)
}

func (p *parser) output(s segment) (node, error) {
	e := &expressions{tokens: s.tokens}
	value, err := e.whole()
	p.at++
	if err != nil {
		p.at--
		return nil, err
	}
	return output{s.line, value}, nil
}

func (p *parser) statement(word string, s segment) (node, error) {
	e := &expressions{tokens: s.tokens[1:]}
	switch word {
	case "if":
		return p.branch(e, s.line)
	case "for":
		return p.loop(e, s.line)
	case "set":
		return p.assignment(e, s.line)
	}
	return nil, fmt.Errorf("there is no statement %q here: if, for, set and raw are", word)
}

func (p *parser) branch(e *expressions, line int) (node, error) {
	b := branch{line: line}
	for {
		condition, err := e.whole()
		if err != nil {
			return nil, err
		}
		b.conditions = append(b.conditions, condition)
		p.at++
		body, err := p.until("elif", "else", "endif")
		if err != nil {
			return nil, err
		}
		b.bodies = append(b.bodies, body)
		word := p.keyword()
		if word == "elif" {
			e = &expressions{tokens: p.segments[p.at].tokens[1:]}
			continue
		}
		p.at++
		if word == "else" {
			if body, err = p.until("endif"); err != nil {
				return nil, err
			}
			b.bodies = append(b.bodies, body)
			p.at++
		}
		return b, nil
	}
}

func (p *parser) loop(e *expressions, line int) (node, error) {
	l := loop{line: line}
	var err error
	if l.names, err = e.names(); err != nil {
		return nil, err
	}
	if !e.word("in") {
		return nil, fmt.Errorf("for needs in")
	}
	if l.list, err = e.or(); err != nil {
		return nil, err
	}
	if e.word("if") {
		if l.condition, err = e.expression(); err != nil {
			return nil, err
		}
	}
	if err := e.finished(); err != nil {
		return nil, err
	}
	p.at++
	if l.body, err = p.until("else", "endfor"); err != nil {
		return nil, err
	}
	if p.keyword() == "else" {
		p.at++
		if l.otherwise, err = p.until("endfor"); err != nil {
			return nil, err
		}
	}
	p.at++
	return l, nil
}

func (p *parser) assignment(e *expressions, line int) (node, error) {
	a := assignment{line: line}
	var err error
	if a.names, err = e.names(); err != nil {
		return nil, err
	}
	if e.operator("=") {
		a.value, err = e.tuple()
		if err == nil {
			err = e.finished()
		}
		p.at++
		return a, err
	}
	if err := e.finished(); err != nil {
		return nil, err
	}
	p.at++
	if a.body, err = p.until("endset"); err != nil {
		return nil, err
	}
	p.at++
	return a, nil
}
