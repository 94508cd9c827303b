package literal

import (
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	tests := map[string]any{
		`{'a': 'b', "c": True}`:                      map[string]any{"a": "b", "c": true},
		`{"a": "b", "c": true, "d": null}`:           map[string]any{"a": "b", "c": true, "d": nil},
		`[{'key': 'k', 'value': '', 'effect': 'x'}]`: []any{map[string]any{"key": "k", "value": "", "effect": "x"}},
		`{u'a': u'b'}`:                               map[string]any{"a": "b"},
		`(1, 2.5, -3,)`:                              []any{int64(1), 2.5, int64(-3)},
		`{1: 'x'}`:                                   map[string]any{"1": "x"},
		`{}`:                                         map[string]any{},
		` None `:                                     nil,
		`'it\'s \u00fc'`:                             "it's ü",
		`"\x41\n"`:                                   "A\n",
	}
	for text, want := range tests {
		got, err := Parse(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Parse(%s) = %#v, %v; want %#v", text, got, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "{", "{'a'}", "{'a':}", "{'a' 'b'}", "{[1]: 2}", "'open", `'\q'`, "{'a':'b'} x", "__import__('os')", "1-2-3", "[1 2]",
		strings.Repeat("[", 100) + strings.Repeat("]", 100), "'\xff'", `'\ud800'`,
	} {
		if got, err := Parse(text); err == nil {
			t.Errorf("Parse(%q) = %#v, want an error", text, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{`{'a': 'b'}`, `[1, (2, 3.5), None, True]`, `{"a": {"b": ["\u00fc"]}}`, `u'x'`, `{1: -2}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, err := Parse(text)
		if err == nil && strings.TrimSpace(text) == "" {
			t.Errorf("%q is %#v", text, value)
		}
	})
}
