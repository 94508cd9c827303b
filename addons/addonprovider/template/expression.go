package template

import (
	"fmt"
	"slices"
)

// expression is a parsed expression.
type expression interface {
	evaluate(*run) (any, error)
}

type (
	constant struct{ value any }
	variable string
	list     []expression
	mapping  struct{ keys, values []expression }
	choice   struct{ condition, yes, no expression } // no may be nil
	logical  struct {
		operator    string // and, or
		left, right expression
	}
	negation   struct{ of expression }
	comparison struct {
		first     expression
		operators []string
		operands  []expression
	}
	binary struct {
		operator    string
		left, right expression
	}
	unary struct {
		operator string
		of       expression
	}
	attribute struct {
		of   expression
		name string
	}
	subscript struct{ of, key expression }
	slice     struct {
		of   expression
		from expression // may be nil
		to   expression // may be nil
	}
	call struct {
		of        expression
		arguments arguments
	}
	filtered struct {
		of        expression
		name      string
		arguments arguments
	}
	tested struct {
		of   expression
		name string
		not  bool
	}
	arguments struct {
		positional []expression
		names      []string
		named      []expression
	}
)

// expressions parses the tokens of one block; the methods are the levels of
// Jinja2's grammar, weakest first.
type expressions struct {
	tokens []token
	at     int
	depth  int
}

func (e *expressions) peek() token {
	if e.at < len(e.tokens) {
		return e.tokens[e.at]
	}
	return token{kind: end}
}

func (e *expressions) word(words ...string) bool { return e.take(name, words) }

func (e *expressions) operator(operators ...string) bool { return e.take(operator, operators) }

func (e *expressions) take(k kind, values []string) bool {
	if t := e.peek(); t.kind == k && slices.Contains(values, t.value) {
		e.at++
		return true
	}
	return false
}

// taken is the token that was read last.
func (e *expressions) taken() string { return e.tokens[e.at-1].value }

func (e *expressions) unexpected() error {
	if t := e.peek(); t.kind != end {
		return fmt.Errorf("unexpected %q", t.value)
	}
	return fmt.Errorf("the expression is not complete")
}

func (e *expressions) finished() error {
	if e.peek().kind == end {
		return nil
	}
	return e.unexpected()
}

func (e *expressions) whole() (expression, error) {
	x, err := e.tuple()
	if err == nil {
		err = e.finished()
	}
	return x, err
}

// names are the targets of `for` and `set`.
func (e *expressions) names() ([]string, error) {
	var names []string
	for {
		t := e.peek()
		if t.kind != name || reserved(t.value) {
			return nil, e.unexpected()
		}
		e.at++
		names = append(names, t.value)
		if !e.operator(",") {
			return names, nil
		}
	}
}

func reserved(word string) bool {
	return slices.Contains([]string{"and", "or", "not", "in", "is", "if", "else"}, word)
}

// tuple is an expression, or several with commas between them, which make a list.
func (e *expressions) tuple() (expression, error) {
	first, err := e.expression()
	if err != nil || !e.operator(",") {
		return first, err
	}
	items := list{first}
	for e.peek().kind != end && !(e.peek().kind == operator && e.peek().value == ")") {
		item, err := e.expression()
		if err != nil {
			return nil, err
		}
		items = append(items, item)
		if !e.operator(",") {
			break
		}
	}
	return items, nil
}

func (e *expressions) expression() (expression, error) {
	if e.depth++; e.depth > maxDepth {
		return nil, fmt.Errorf("the expression nests too deep")
	}
	defer func() { e.depth-- }()
	x, err := e.or()
	for err == nil && e.word("if") {
		c := choice{yes: x}
		if c.condition, err = e.or(); err != nil {
			return nil, err
		}
		if e.word("else") {
			if c.no, err = e.expression(); err != nil {
				return nil, err
			}
		}
		x = c
	}
	return x, err
}

func (e *expressions) or() (expression, error)  { return e.logical("or", e.and) }
func (e *expressions) and() (expression, error) { return e.logical("and", e.not) }

func (e *expressions) logical(word string, operand func() (expression, error)) (expression, error) {
	left, err := operand()
	for err == nil && e.word(word) {
		var right expression
		right, err = operand()
		left = logical{word, left, right}
	}
	return left, err
}

func (e *expressions) not() (expression, error) {
	if e.word("not") {
		if e.depth++; e.depth > maxDepth {
			return nil, fmt.Errorf("the expression nests too deep")
		}
		defer func() { e.depth-- }()
		of, err := e.not()
		return negation{of}, err
	}
	return e.comparison()
}

func (e *expressions) comparison() (expression, error) {
	first, err := e.sum()
	if err != nil {
		return nil, err
	}
	c := comparison{first: first}
	for {
		var o string
		switch {
		case e.operator("==", "!=", "<=", ">=", "<", ">"), e.word("in"):
			o = e.taken()
		case e.peek() == (token{name, "not"}) && e.at+1 < len(e.tokens) && e.tokens[e.at+1] == (token{name, "in"}):
			e.at += 2
			o = "not in"
		case len(c.operators) == 0:
			return first, nil
		default:
			return c, nil
		}
		operand, err := e.sum()
		if err != nil {
			return nil, err
		}
		c.operators, c.operands = append(c.operators, o), append(c.operands, operand)
	}
}

func (e *expressions) sum() (expression, error) {
	return e.binary(func() (expression, error) {
		return e.binary(func() (expression, error) {
			return e.binary(func() (expression, error) {
				return e.binary(e.unary, "**")
			}, "*", "/", "//", "%")
		}, "~")
	}, "+", "-")
}

func (e *expressions) binary(operand func() (expression, error), operators ...string) (expression, error) {
	left, err := operand()
	for err == nil && e.operator(operators...) {
		o := e.taken()
		var right expression
		right, err = operand()
		left = binary{o, left, right}
	}
	return left, err
}

// unary is a primary, with its sign and what follows it, and then filters.
func (e *expressions) unary() (expression, error) {
	x, err := e.signed()
	if err != nil {
		return nil, err
	}
	return e.filters(x)
}

func (e *expressions) signed() (expression, error) {
	if e.operator("-", "+") {
		sign := e.taken()
		if e.depth++; e.depth > maxDepth {
			return nil, fmt.Errorf("the expression nests too deep")
		}
		defer func() { e.depth-- }()
		of, err := e.signed()
		return unary{sign, of}, err
	}
	x, err := e.primary()
	if err != nil {
		return nil, err
	}
	return e.postfix(x)
}
