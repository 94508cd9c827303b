package main

import (
	"bytes"
	"go/format"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFind(t *testing.T) {
	t.Parallel()
	const text = `package p

func f(a, b int, ok bool, g func() error) (bool, error) {
	if err := g(); err != nil {
		return false, err
	}
	if ok {
		return !ok, nil
	}
	return a < b && b == 2, nil
}
`
	all, err := findIn("p.go", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, m := range all {
		have = append(have, m.String())
		changed := m.apply([]byte(text))
		if _, err := format.Source(changed); err != nil || bytes.Equal(changed, []byte(text)) {
			t.Errorf("%s: %v\n%s", m, err, changed)
		}
	}
	want := []string{"p.go:4: != becomes ==", "p.go:5: false becomes true", "p.go:5: err becomes nil", "p.go:7:  becomes !", "p.go:8: ! becomes ",
		"p.go:10: && becomes ||", "p.go:10: < becomes <=", "p.go:10: == becomes !="}
	if !slices.Equal(have, want) {
		t.Errorf("have %q\nwant %q", have, want)
	}
}

func TestChooseIsTheSameForASeed(t *testing.T) {
	t.Parallel()
	var all []mutation
	for i := range 50 {
		all = append(all, mutation{file: "p.go", from: i})
	}
	o := options{sample: 5, seed: 1}
	first, again := o.choose("a", all), o.choose("a", all)
	if !slices.Equal(first, again) || len(first) != 5 || !slices.IsSortedFunc(first, func(a, b mutation) int { return a.from - b.from }) {
		t.Errorf("%v, then %v", first, again)
	}
	if slices.Equal(first, o.choose("b", all)) {
		t.Error("another package has the same chance")
	}
	o.seed = 2
	if slices.Equal(first, o.choose("a", all)) {
		t.Error("another seed has the same chance")
	}
	if o.sample = 0; len(o.choose("a", all)) != 50 {
		t.Error("0 is not all")
	}
}

// TestSurvivors changes a package of its own, half of which is tested.
func TestSurvivors(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":      "module p\n\ngo 1.24\n",
		"p/p.go":      "package p\n\nfunc tested(a int) bool { return a == 1 }\n\nfunc untested(a int) bool { return a != 2 }\n\nfunc Elsewhere(a int) bool { return a == 3 }\n",
		"q/q_test.go": "package q\n\nimport (\n\t\"testing\"\n\n\t\"p/p\"\n)\n\nfunc Test(t *testing.T) {\n\tif !p.Elsewhere(3) {\n\t\tt.Fail()\n\t}\n}\n",
		"p/p_test.go": "package p\n\nimport \"testing\"\n\nfunc Test(t *testing.T) {\n\tif !tested(1) || tested(2) {\n\t\tt.Fail()\n\t}\n\tuntested(1)\n}\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	var out bytes.Buffer
	o := options{out: &out, most: 10, others: map[string]string{"p": "q"}, timeout: 10 * time.Minute}
	if err := o.start(t.Context(), []string{"p"}); err == nil || !strings.Contains(err.Error(), "more than 10 % survived") {
		t.Errorf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"3 changes, 2 noticed, 1 survived (33.3 %), 0 more do not compile", "survived: p/p.go:5: != becomes =="} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
	if o.most = 40; o.start(t.Context(), []string{"p"}) != nil {
		t.Error("two of five may survive")
	}
}
