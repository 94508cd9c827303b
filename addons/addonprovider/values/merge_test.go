package values

import (
	"reflect"
	"strings"
	"testing"
)

func parse(t *testing.T, text string) any {
	t.Helper()
	value, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// proves: F112
func TestMerge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ base, override, want string }{
		"maps":               {"a: {x: 1, y: 1}\nb: 1", "a: {y: 2, z: 3}", "a: {x: 1, y: 2, z: 3}\nb: 1"},
		"lists":              {"a: [1, {b: 1}]", "a: [1, 2]", "a: [1, {b: 1}, 1, 2]"},
		"null keeps":         {"a: 1\nb: {c: 1}\nl: [1]", "a: null\nb:\nl: ~", "a: 1\nb: {c: 1}\nl: [1]"},
		"null in base":       {"a: null", "a: 1", "a: 1"},
		"new null":           {"a: 1", "b: null", "a: 1\nb: null"},
		"false, 0 and empty": {"a: true\nb: 1\nc: x\nd: {e: 1}", "a: false\nb: 0\nc: ''\nd: {}", "a: false\nb: 0\nc: ''\nd: {e: 1}"},
		"other types":        {"a: {b: 1}\nc: [1]\nd: 1", "a: 1\nc: {x: 1}\nd: [2]", "a: 1\nc: {x: 1}\nd: [2]"},
		"nothing":            {"a: 1", "", "a: 1"},
	} {
		base := parse(t, c.base)
		if got, want := Plain(Merge(base, parse(t, c.override))), Plain(parse(t, c.want)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
		if !reflect.DeepEqual(base, parse(t, c.base)) {
			t.Errorf("%s: the base was changed", name)
		}
	}
}

// What is wanted is what PyYAML's safe_load reads, but for dates and integers that are too long.
func TestScalarsAreThoseOfYAML11(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		"yes": true, "Off": false, "y": "y", "True": true, "~": nil, "": nil, "null": nil, "nUll": "nUll",
		"1": int64(1), "-5": int64(-5), "+5": int64(5), "0x1F": int64(31), "010": int64(8), "0o10": "0o10", "08": "08", "0b11": int64(3),
		"1_000": int64(1000), "1:30": int64(90), "12:30:45": int64(45045), "1.5": 1.5, "1.": 1.0, ".5": 0.5, "1e3": "1e3", "1.0e+3": 1000.0,
		"-.inf": parseInfinity(t), "1.2.3": "1.2.3", "v1": "v1", "'1'": "1", `"yes"`: "yes", "!!str 1": "1", "!!binary YWJj": "abc", "=": "=",
		"2026-01-01": "2026-01-01", "99999999999999999999": "99999999999999999999",
	} {
		if got := parse(t, "k: "+text).(*Map); !reflect.DeepEqual(got.values["k"], want) {
			t.Errorf("%s: got %#v, want %#v", text, got.values["k"], want)
		}
	}
}

func parseInfinity(t *testing.T) any {
	t.Helper()
	f, ok := float("-.inf")
	if !ok {
		t.Fatal("no infinity")
	}
	return f
}

func TestParse(t *testing.T) {
	t.Parallel()
	m := parse(t, "b: &x {k: 1, l: 2}\na:\n  <<: *x\n  l: 3\n1: one\ntrue: yes\n").(*Map)
	if got := strings.Join(m.Keys(), " "); got != "b a 1 true" {
		t.Errorf("keys are %s", got)
	}
	if got, want := Plain(m.values["a"]), (map[string]any{"k": int64(1), "l": int64(3)}); !reflect.DeepEqual(got, want) {
		t.Errorf("merged keys are %v", got)
	}
	documents, err := ParseAll("a: 1\n---\n---\nb: 2\n")
	if err != nil || len(documents) != 3 || documents[1] != nil {
		t.Errorf("documents are %v, %v", documents, err)
	}
	for _, text := range []string{"a: [", "a: b: c", "? {a: 1}\n: x", "a: 1\n---\nb: 1", "<<: 1"} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}
