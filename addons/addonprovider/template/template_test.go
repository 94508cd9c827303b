package template

import (
	"bytes"
	"context"
	_ "embed" // the cases
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/addons/addonprovider/values"
)

//go:embed testdata/cases.json
var cases []byte

type goldens struct {
	Variables map[string]any
	Cases     []struct{ Name, Template, Want string }
}

func load(t *testing.T) (goldens, map[string]any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(cases))
	decoder.UseNumber()
	var g goldens
	if err := decoder.Decode(&g); err != nil {
		t.Fatal(err)
	}
	variables := map[string]any{}
	for name, value := range g.Variables {
		variables[name] = values.Of(numbers(value))
	}
	return g, variables
}

// numbers makes integers and floats of JSON's numbers, as an API server's
// clients do.
func numbers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = numbers(v[key])
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	}
	return value
}

// What is wanted is what Jinja2 3.1.6 and PyYAML 6.0.3 printed: see
// testdata/expect.py.
//
// proves: F113
func TestRendersAsJinja(t *testing.T) {
	t.Parallel()
	g, variables := load(t)
	for _, c := range g.Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			got, err := Render(context.Background(), c.Template, variables)
			if err != nil {
				t.Fatal(err)
			}
			if got != c.Want {
				t.Errorf("got\n%q\nwant\n%q", got, c.Want)
			}
		})
	}
}

func render(t *testing.T, text string) (string, error) {
	t.Helper()
	_, variables := load(t)
	return Render(context.Background(), text, variables)
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"steps":       "{% for a in range(5000) %}{% for b in range(5000) %}x{% endfor %}{% endfor %}",
		"repeat":      `{{ "x" * 100000000000 }}`,
		"doubling":    `{% set x = "xxxxxxxxxxxxxxxx" %}` + strings.Repeat("{% set x = x ~ x %}", 60),
		"lists":       `{% set x = [1, 2] %}` + strings.Repeat("{% set x = x + x %}", 60),
		"merging":     `{% set x = [1, 2] %}` + strings.Repeat("{% set x = x | mergeconcat(x) %}", 60),
		"range":       "{{ range(1000000000000) }}",
		"replace":     `{% set x = "x" * 1000000 %}{{ x | replace("x", x) }}`,
		"indent":      `{{ "a\nb" | indent(1000000000) }}`,
		"depth":       "{{ " + strings.Repeat("(", 10000) + "1" + strings.Repeat(")", 10000) + " }}",
		"signs":       "{{ " + strings.Repeat("-", 100000) + "1 }}",
		"nots":        "{{ " + strings.Repeat("not ", 100000) + "1 }}",
		"lists in":    "{{ " + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + " }}",
		"blocks":      strings.Repeat("{% if 1 %}", 10000) + strings.Repeat("{% endif %}", 10000),
		"yaml bomb":   "{% set y = 'a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]' %}{{ y | fromyaml }}",
		"power":       "{{ 10 ** 1000 }}",
		"by zero":     "{{ 1 // 0 }}",
		"class":       `{{ "".__class__.__mro__ }}`,
		"include":     `{% include "/etc/passwd" %}`,
		"import":      `{% import "os" as os %}`,
		"extends":     `{% extends "base" %}`,
		"macro":       `{% macro m() %}{% endmacro %}`,
		"filter":      `{{ 1 | nosuch }}`,
		"no text":     `{{ 1 | b64decode }}`,
		"undefined":   `{{ cluster.spec.nosuch.field }}`,
		"undefined f": `{{ nosuch | toyaml }}`,
		"none":        `{{ nothing | indent(2) }}`,
		"open":        `{{ cluster`,
		"open block":  `{% if cluster %}`,
		"else":        `{% else %}`,
		"string":      `{{ "abc }}`,
		"trailing":    `{{ 1 2 }}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			out, err := render(t, text)
			if err == nil {
				t.Errorf("no error but %d bytes: %.60q", len(out), out)
			} else if !strings.Contains(err.Error(), "line ") && !strings.Contains(err.Error(), "too large") {
				t.Errorf("no line: %v", err)
			}
			if took := time.Since(begin); took > 30*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

func TestRenderingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Render(ctx, "{% for a in range(5000) %}{{ a }}{% endfor %}", nil); err == nil {
		t.Error("it went on")
	}
}
