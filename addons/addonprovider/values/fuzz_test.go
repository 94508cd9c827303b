package values

import (
	"reflect"
	"testing"
)

// FuzzParse reads anything as YAML: an error, or values that are written and
// read again as they were.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "a: 1\nb: [x, {y: z}]\n", "&a [*a]", "a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]", "!!binary aGk=", "a: !!python/object:os.system x", "<<: {a: 1}",
		"? [a]\n: b", "--- a\n--- b\n", "\"\\u0000\"", "1e999", "0o17", ".nan", "2001-01-01", "- - - - - - x", "a: |\n  x\n  y\n", "{a: {a: {a: {a: {}}}}}", "\ufeffa: b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		documents, err := ParseAll(text)
		if err != nil {
			return
		}
		for _, document := range documents {
			written, err := Emit(document)
			if err != nil {
				continue
			}
			again, err := Parse(written)
			if err != nil {
				t.Fatalf("what was written of %q cannot be read: %v\n%q", text, err, written)
			}
			if !reflect.DeepEqual(Plain(document), Plain(again)) && written != mustEmit(t, again) {
				t.Errorf("%q: written as %q, which is another value", text, written)
			}
		}
	})
}

func mustEmit(t *testing.T, value any) string {
	t.Helper()
	text, err := Emit(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
