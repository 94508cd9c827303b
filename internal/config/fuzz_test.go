package config

import (
	"os"
	"testing"
)

// FuzzParse looks for texts at which decoding panics instead of telling a
// mistake, and for accepted ones that are not shown as they were read.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"testdata/full.yaml", "testdata/wrong.yaml"} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range []string{head, "a: &a [*a]", "? {a: b}\n: c", "<<: x", "spec: {seed: {k3s: {config: {a: [null, ~, {1: 2}]}}}}"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := Parse(Source{Name: "testdata/fuzz.yaml", Text: text})
		if err != nil {
			return
		}
		shown, err := l.YAML(false)
		if err != nil {
			t.Fatalf("accepted, but not shown: %v", err)
		}
		if _, err := Parse(Source{Name: "testdata/shown.yaml", Text: shown}); err != nil {
			t.Fatalf("shown as\n%s\nwhich is refused: %v", shown, err)
		}
	})
}
