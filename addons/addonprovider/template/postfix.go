package template

import (
	"fmt"
	"strconv"
)

func (e *expressions) primary() (expression, error) {
	t := e.peek()
	e.at++
	switch t.kind {
	case name:
		if reserved(t.value) {
			break
		}
		return named(t.value), nil
	case text:
		value := t.value
		for e.peek().kind == text {
			value += e.peek().value
			e.at++
		}
		return constant{value}, nil
	case integer:
		n, err := strconv.ParseInt(t.value, 10, 64)
		return constant{n}, err
	case float:
		f, err := strconv.ParseFloat(t.value, 64)
		return constant{f}, err
	case operator:
		switch t.value {
		case "(":
			return e.parenthesised()
		case "[":
			items, err := e.items("]")
			return list(items), err
		case "{":
			return e.mapping()
		}
	}
	e.at--
	return nil, e.unexpected()
}

func named(word string) expression {
	switch word {
	case "true", "True":
		return constant{true}
	case "false", "False":
		return constant{false}
	case "none", "None":
		return constant{nil}
	}
	return variable(word)
}

func (e *expressions) parenthesised() (expression, error) {
	if e.operator(")") {
		return list{}, nil
	}
	x, err := e.tuple()
	if err == nil && !e.operator(")") {
		err = e.unexpected()
	}
	return x, err
}

// items are expressions with commas up to a closing bracket.
func (e *expressions) items(closing string) ([]expression, error) {
	items := []expression{}
	for !e.operator(closing) {
		item, err := e.expression()
		if err != nil {
			return nil, err
		}
		items = append(items, item)
		if !e.operator(",") && e.peek() != (token{operator, closing}) {
			return nil, e.unexpected()
		}
	}
	return items, nil
}

func (e *expressions) mapping() (expression, error) {
	m := mapping{}
	for !e.operator("}") {
		key, err := e.expression()
		if err != nil {
			return nil, err
		}
		if !e.operator(":") {
			return nil, e.unexpected()
		}
		value, err := e.expression()
		if err != nil {
			return nil, err
		}
		m.keys, m.values = append(m.keys, key), append(m.values, value)
		if !e.operator(",") && e.peek() != (token{operator, "}"}) {
			return nil, e.unexpected()
		}
	}
	return m, nil
}

// postfix is a primary with its attributes, subscripts and calls.
func (e *expressions) postfix(x expression) (expression, error) {
	for {
		switch {
		case e.operator("."):
			t := e.peek()
			if t.kind != name && t.kind != integer {
				return nil, e.unexpected()
			}
			e.at++
			x = attribute{x, t.value}
			if t.kind == integer {
				key, err := (&expressions{tokens: []token{t}}).primary()
				if err != nil {
					return nil, err
				}
				x = subscript{x.(attribute).of, key}
			}
		case e.operator("["):
			var err error
			if x, err = e.subscript(x); err != nil {
				return nil, err
			}
		case e.operator("("):
			arguments, err := e.arguments()
			if err != nil {
				return nil, err
			}
			x = call{x, arguments}
		default:
			return x, nil
		}
	}
}

func (e *expressions) subscript(of expression) (expression, error) {
	var from, to expression
	var err error
	if e.peek() != (token{operator, ":"}) {
		if from, err = e.expression(); err != nil {
			return nil, err
		}
		if e.operator("]") {
			return subscript{of, from}, nil
		}
	}
	if !e.operator(":") {
		return nil, e.unexpected()
	}
	if e.peek() != (token{operator, "]"}) {
		if to, err = e.expression(); err != nil {
			return nil, err
		}
	}
	if !e.operator("]") {
		return nil, e.unexpected()
	}
	return slice{of, from, to}, nil
}

// arguments reads the arguments of a call, after its opening bracket.
func (e *expressions) arguments() (arguments, error) {
	var a arguments
	for !e.operator(")") {
		named := e.peek().kind == name && e.at+1 < len(e.tokens) && e.tokens[e.at+1] == token{operator, "="}
		if named {
			a.names = append(a.names, e.peek().value)
			e.at += 2
		} else if len(a.names) > 0 {
			return a, fmt.Errorf("an argument without a name follows one with a name")
		}
		value, err := e.expression()
		if err != nil {
			return a, err
		}
		if named {
			a.named = append(a.named, value)
		} else {
			a.positional = append(a.positional, value)
		}
		if !e.operator(",") && e.peek() != (token{operator, ")"}) {
			return a, e.unexpected()
		}
	}
	return a, nil
}

// filters reads the filters and tests that follow an expression.
func (e *expressions) filters(x expression) (expression, error) {
	for {
		switch {
		case e.operator("|"):
			t := e.peek()
			if t.kind != name {
				return nil, e.unexpected()
			}
			e.at++
			if filterOf(t.value) == nil {
				return nil, fmt.Errorf("there is no filter %q here", t.value)
			}
			f := filtered{of: x, name: t.value}
			if e.operator("(") {
				var err error
				if f.arguments, err = e.arguments(); err != nil {
					return nil, err
				}
			}
			x = f
		case e.word("is"):
			test := tested{of: x, not: e.word("not")}
			t := e.peek()
			if t.kind != name || !testable(t.value) {
				return nil, fmt.Errorf("there is no test %q here", t.value)
			}
			e.at++
			test.name = t.value
			x = test
		default:
			return x, nil
		}
	}
}
