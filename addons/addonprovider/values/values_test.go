package values

import (
	"strings"
	"testing"
)

// The expectations of this file are what PyYAML 6.0.3 printed.

func TestEmitIsWhatPyYAMLWrites(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word and ", 20)
	for name, c := range map[string]struct{ in, want string }{
		"sorted keys":   {`{"b": 1, "a": {"y": [], "x": {}}}`, "a:\n  x: {}\n  y: []\nb: 1\n"},
		"lists":         {`{"l": [1, [2, [3]], {"a": 1, "b": [true, null]}]}`, "l:\n- 1\n- - 2\n  - - 3\n- a: 1\n  b:\n  - true\n  - null\n"},
		"strings":       {`["yes", "1", "1e3", "1.5", "null", "~", "", " x", "a: b", "a #b", "#a", "-", "- a", "2001-01-01", "=", "it's", "@x", "x:", "0x1f", "1_000", "0o17", "12:30:45"]`, "- 'yes'\n- '1'\n- 1e3\n- '1.5'\n- 'null'\n- '~'\n- ''\n- ' x'\n- 'a: b'\n- 'a #b'\n- '#a'\n- '-'\n- '- a'\n- '2001-01-01'\n- '='\n- it's\n- '@x'\n- 'x:'\n- '0x1f'\n- '1_000'\n- 0o17\n- '12:30:45'\n"},
		"floats":        {`[1.0, 1.5, 1.0e+20, 1.0e-7, 100000.0]`, "- 1.0\n- 1.5\n- 1.0e+20\n- 1.0e-07\n- 100000.0\n"},
		"several lines": {`{"k": "a\nb\n\nc\n"}`, "k: 'a\n\n  b\n\n\n  c\n\n  '\n"},
		"escapes":       {`{"k": "t\tb\u00e9\u2028\u20ac \U0001F600\u0000"}`, "k: \"t\\tb\\xE9\\L\\u20AC \\U0001F600\\0\"\n"},
		"long plain":    {`{"key": "` + long + `x"}`, "key: word and word and word and word and word and word and word and word and word\n  and word and word and word and word and word and word and word and word and word\n  and word and word and x\n"},
		"long quoted":   {`{"key": "# it's ` + long + `x"}`, "key: '# it''s word and word and word and word and word and word and word and word\n  and word and word and word and word and word and word and word and word and word\n  and word and word and word and x'\n"},
		"long escaped":  {`{"key": "\u00e9 ` + long + `x"}`, "key: \"\\xE9 word and word and word and word and word and word and word and word and\\\n  \\ word and word and word and word and word and word and word and word and word and\\\n  \\ word and word and word and x\"\n"},
		"space break":   {`{"key": "a \nb"}`, "key: \"a \\nb\"\n"},
		"a string":      {`"text"`, "text\n...\n"},
		"base64":        {`{"k": "YWJj` + strings.Repeat("ZGVm", 40) + `Z2g="}`, "k: YWJj" + strings.Repeat("ZGVm", 40) + "Z2g=\n"},
		"empty":         {`{}`, "{}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			value, err := Parse(c.in)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Emit(value)
			if err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// A document that is in itself, or nests without an end, is refused before it
// takes the stack: that would end the process, whoever wrote the document.
func TestDocumentsThatNestWithoutEndAreRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a list in itself": "&a [*a]", "a map in itself": "&a {b: *a}", "through another": "a: &a {b: &b [*a]}", "deep": strings.Repeat("[", 2000) + strings.Repeat("]", 2000),
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), "too deep") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Parse(strings.Repeat("[", 500) + strings.Repeat("]", 500)); err != nil {
		t.Errorf("500 levels: %v", err)
	}
}
