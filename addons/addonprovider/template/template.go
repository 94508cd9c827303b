// Package template renders the templates in the charts of clusters. It has the part of Jinja2 that
// they use, renders it as Jinja2 does, and reaches nothing outside: no includes, no imports, no
// attributes of Go values. Steps, sizes and time are bounded.
package template

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

const (
	// maxSteps bounds the statements and expressions that are evaluated.
	maxSteps = 1 << 18
	// maxSize bounds, in bytes, the output and every string on the way to it.
	maxSize = 8 << 20
	// maxItems bounds lists and maps that a template makes.
	maxItems = 1 << 16
)

// Render renders a template with variables, whose values are of package values. Errors name the
// line of the template.
func Render(ctx context.Context, source string, variables map[string]any) (string, error) {
	if len(source) > maxSize {
		return "", errors.New("the template is too large")
	}
	nodes, err := parse(source)
	if err != nil {
		return "", err
	}
	r := &run{ctx: ctx, scopes: []map[string]any{variables, {}}}
	if err := r.all(nodes); err != nil {
		return "", fmt.Errorf("line %d: %w", r.line, err)
	}
	return r.out.String(), nil
}

// run is one rendering.
type run struct {
	ctx    context.Context
	out    strings.Builder
	steps  int
	line   int
	scopes []map[string]any // the innermost is last
}

func (r *run) step() error {
	if r.steps++; r.steps > maxSteps {
		return errors.New("the template takes too many steps")
	}
	if r.steps%1024 == 0 {
		return r.ctx.Err()
	}
	return nil
}

func (r *run) write(text string) error {
	if r.out.Len()+len(text) > maxSize {
		return errors.New("the output is too large")
	}
	r.out.WriteString(text)
	return nil
}

func (r *run) all(nodes []node) error {
	for _, n := range nodes {
		if err := r.step(); err != nil {
			return err
		}
		if err := n.render(r); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) evaluate(x expression) (any, error) {
	if err := r.step(); err != nil {
		return nil, err
	}
	value, err := x.evaluate(r)
	if err != nil {
		return nil, err
	}
	if s, ok := value.(string); ok && len(s) > maxSize {
		return nil, errors.New("a string is too large")
	}
	return value, nil
}

func (l literal) render(r *run) error { return r.write(string(l)) }

func (o output) render(r *run) error {
	r.line = o.line
	value, err := r.evaluate(o.value)
	if err != nil {
		return err
	}
	return r.write(toText(value))
}

func (b branch) render(r *run) error {
	r.line = b.line
	for i, condition := range b.conditions {
		value, err := r.evaluate(condition)
		if err != nil {
			return err
		}
		if truth(value) {
			return r.all(b.bodies[i])
		}
	}
	if len(b.bodies) > len(b.conditions) {
		return r.all(b.bodies[len(b.conditions)])
	}
	return nil
}

func (a assignment) render(r *run) error {
	r.line = a.line
	if a.value == nil {
		inner := &run{ctx: r.ctx, steps: r.steps, line: r.line, scopes: append(r.scopes[:len(r.scopes):len(r.scopes)], map[string]any{})}
		err := inner.all(a.body)
		r.steps, r.line = inner.steps, inner.line
		if err != nil {
			return err
		}
		return r.assign(a.names, inner.out.String())
	}
	value, err := r.evaluate(a.value)
	if err != nil {
		return err
	}
	return r.assign(a.names, value)
}

// assign sets names in the innermost scope; several names take a list apart.
func (r *run) assign(names []string, value any) error {
	scope := r.scopes[len(r.scopes)-1]
	if len(names) == 1 {
		scope[names[0]] = value
		return nil
	}
	items, err := iterate(value)
	if err != nil {
		return err
	}
	if len(items) != len(names) {
		return fmt.Errorf("%d values for %d names", len(items), len(names))
	}
	for i, name := range names {
		scope[name] = items[i]
	}
	return nil
}

func (l loop) render(r *run) error {
	r.line = l.line
	value, err := r.evaluate(l.list)
	if err != nil {
		return err
	}
	items, err := iterate(value)
	if err != nil {
		return err
	}
	outer := r.scopes
	defer func() { r.scopes = outer }()
	if items, err = l.selected(r, items); err != nil {
		return err
	}
	if len(items) == 0 {
		r.scopes = append(outer[:len(outer):len(outer)], map[string]any{})
		return r.all(l.otherwise)
	}
	for i, item := range items {
		r.scopes = append(outer[:len(outer):len(outer)], map[string]any{"loop": state{items, i}})
		if err := r.assign(l.names, item); err != nil {
			return err
		}
		if err := r.all(l.body); err != nil {
			return err
		}
	}
	return nil
}

// selected are the items for which the condition of the loop holds.
func (l loop) selected(r *run, items []any) ([]any, error) {
	if l.condition == nil {
		return items, nil
	}
	outer := r.scopes
	defer func() { r.scopes = outer }()
	var selected []any
	for _, item := range items {
		r.scopes = append(outer[:len(outer):len(outer)], map[string]any{})
		if err := r.assign(l.names, item); err != nil {
			return nil, err
		}
		value, err := r.evaluate(l.condition)
		if err != nil {
			return nil, err
		}
		if truth(value) {
			selected = append(selected, item)
		}
	}
	return selected, nil
}

// state is the variable loop; its attributes are computed when they are read.
type state struct {
	items []any
	at    int
}

func (s state) attribute(name string) any {
	n := len(s.items)
	switch name {
	case "index":
		return int64(s.at + 1)
	case "index0":
		return int64(s.at)
	case "revindex":
		return int64(n - s.at)
	case "revindex0":
		return int64(n - s.at - 1)
	case "first":
		return s.at == 0
	case "last":
		return s.at == n-1
	case "length":
		return int64(n)
	case "previtem":
		if s.at > 0 {
			return s.items[s.at-1]
		}
	case "nextitem":
		if s.at < n-1 {
			return s.items[s.at+1]
		}
	}
	return undefined{"loop." + name}
}
