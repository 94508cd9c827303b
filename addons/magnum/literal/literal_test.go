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
		`[0, 9, +5, 1_000, 1e+3, -0.5]`:              []any{int64(0), int64(9), int64(5), int64(1000), 1000.0, -0.5},
		`[False, false, None, null]`:                 []any{false, false, nil, nil},
		`[u"a", U'b', '\\', "\"", '\/']`:             []any{"a", "b", `\`, `"`, "/"},
		`{True: 1.5, 2.5: (), "x": {}}`:              map[string]any{"true": 1.5, "2.5": []any{}, "x": map[string]any{}},
		strings.Repeat("[", 17) + strings.Repeat("]", 17): nested(17),
	}
	for text, want := range tests {
		got, err := Parse(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Parse(%s) = %#v, %v; want %#v", text, got, err, want)
		}
	}
}

// nested are empty lists in each other.
func nested(deep int) any {
	list := []any{}
	for range deep - 1 {
		list = []any{list}
	}
	return list
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"u", "x'a'", "ru'a'", "nothing", "[", "(", "[1", "[,", "{'a':", "{'a':1", "{:1}", "{1:2", "'\\", `'\x4`, `'\x`, `'\x4g'`, "[1)", "--1", "{'a': [}",
		strings.Repeat("[", 18) + strings.Repeat("]", 18),
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
