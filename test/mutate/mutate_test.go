package main

import (
	"bytes"
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
	all, err := findIn("p.go", []byte(text), 1)
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for i, m := range all {
		have = append(have, m.String())
		if m.id != i+1 {
			t.Errorf("%s has the number %d", m, m.id)
		}
	}
	want := []string{"p.go:4: != becomes ==", "p.go:5: false becomes true", "p.go:5: err becomes nil", "p.go:7:  becomes !", "p.go:8: ! becomes ",
		"p.go:10: && becomes ||", "p.go:10: < becomes <=", "p.go:10: == becomes !="}
	if !slices.Equal(have, want) {
		t.Errorf("have %q\nwant %q", have, want)
	}
}

func TestFoldersBelowAreNamedAsForGo(t *testing.T) {
	t.Chdir("../..")
	for folder, want := range map[string]bool{"images": false, "images/...": true} {
		dirs, err := packages([]string{folder})
		if err != nil || !slices.Contains(dirs, "images") || slices.Contains(dirs, "images/manifest") != want {
			t.Errorf("%s: %q, %v", folder, dirs, err)
		}
	}
}

// TestApply: words of a change are those of the operator and its opposite, and an expression in
// another one is changed within it.
func TestApply(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{
		"a == b":     "((a == b) != mutantIsOn(1))",
		"a < b":      "mutantLess(1, a ,  b)",
		"a >= b":     "mutantAtLeast(1, a ,  b)",
		"!a":         "((a) != !mutantIsOn(1))",
		"a && b":     "((((a) != mutantIsOn(1)) && ((b) != mutantIsOn(1))) != mutantIsOn(1))",
		"!f(a != b)": "((f(((a != b) != mutantIsOn(2)))) != !mutantIsOn(1))",
		"true":       "!mutantIsOn(1)",
		"false":      "mutantIsOn(1)",
		"err":        "mutantDrops(1, err)",
	} {
		text := "package p\n\nfunc g() any {\n\treturn " + from + "\n}\n\nconst c = 1 == 2\n"
		all, err := findIn("p.go", []byte(text), 1)
		if err != nil {
			t.Fatal(err)
		}
		if have := strings.Split(string(apply([]byte(text), all)), "\n"); have[3] != "\treturn "+want || have[6] != "const c = 1 == 2" {
			t.Errorf("%s: have %s\nwant %s", from, have[3], want)
		}
	}
}

func TestChooseIsTheSameForASeed(t *testing.T) {
	t.Parallel()
	same := func(a, b mutation) bool { return a.id == b.id }
	var all []mutation
	for i := range 50 {
		all = append(all, mutation{file: "p.go", id: i})
	}
	o := options{sample: 5, seed: 1}
	first, again := o.choose("a", all), o.choose("a", all)
	if !slices.EqualFunc(first, again, same) || len(first) != 5 || !slices.IsSortedFunc(first, func(a, b mutation) int { return a.id - b.id }) {
		t.Errorf("%v, then %v", first, again)
	}
	if slices.EqualFunc(first, o.choose("b", all), same) {
		t.Error("another package has the same chance")
	}
	o.seed = 2
	if slices.EqualFunc(first, o.choose("a", all), same) {
		t.Error("another seed has the same chance")
	}
	if o.sample = 0; len(o.choose("a", all)) != 50 {
		t.Error("0 is not all")
	}
}

// TestSurvivors changes a package of its own, half of which is tested.
func TestSurvivors(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"go.mod": "module p\n\ngo 1.24\n",
		"p/p.go": "package p\n\nfunc tested(a int) bool { return a == 1 }\n\nfunc untested(a int) bool { return a != 2 }\n\nfunc Elsewhere(a int) bool { return a == 3 }\n\n" +
			"type truth bool\n\nfunc own(a truth) truth { return !a }\n\nfunc nowhere() bool { return true }\n",
		"p/all.go": "package p\n\nfunc less(a, b int) bool { return a < b }\n\nfunc atMost(a, b int) bool { return a <= b }\n\n" +
			"func more(a, b int) bool { return a > b }\n\nfunc atLeast(a, b int) bool { return a >= b }\n\n" +
			"func and(a, b bool) bool { return a && b }\n\nfunc or(a, b bool) bool { return a || b }\n\n" +
			"func not(a bool) bool { return !a }\n\nfunc same(err error) error { return err }\n",
		"p/all_test.go": "package p\n\nimport (\n\t\"io\"\n\t\"testing\"\n)\n\nfunc TestAll(t *testing.T) {\n" +
			"\tif less(1, 1) || !atMost(1, 1) || more(1, 1) || !atLeast(1, 1) || and(true, false) || !or(true, false) || not(true) || same(io.EOF) == nil {\n" +
			"\t\tt.Fail()\n\t}\n}\n",
		"p/p_none.go": "//go:build none\n\npackage p\n\nfunc none(a int) bool { return a != 2 }\n",
		"q/q_test.go": "package q\n\nimport (\n\t\"testing\"\n\n\t\"p/p\"\n)\n\nfunc Test(t *testing.T) {\n\tif !p.Elsewhere(3) {\n\t\tt.Fail()\n\t}\n}\n",
		"p/p_test.go": "package p\n\nimport \"testing\"\n\nfunc Test(t *testing.T) {\n\tif !tested(1) || tested(2) {\n\t\tt.Fail()\n\t}\n\tuntested(1)\n\town(false)\n}\n",
	})
	t.Chdir(dir)
	var out bytes.Buffer
	o := options{out: &out, most: 10, jobs: 2, others: map[string]string{"p": "q"}, timeout: 10 * time.Minute}
	if err := o.start(t.Context(), []string{"p"}); err == nil || !strings.Contains(err.Error(), "more than 10 % survived") {
		t.Errorf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"12 changes, 10 noticed, 2 survived (16.7 %), 1 more do not compile",
		"survived: p/p.go:5: != becomes ==\n", "survived: p/p.go:13: true becomes false (no test of the package reaches it)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
	if o.most = 17; o.start(t.Context(), []string{"p"}) != nil {
		t.Error("17 % may survive")
	}
}

// TestAPackageThatFails: the run ends with its name, and prints what was tried before it.
func TestAPackageThatFails(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"go.mod":      "module p\n\ngo 1.24\n",
		"p/p.go":      "package p\n\nfunc untested(a int) bool { return a != 2 }\n",
		"p/p_test.go": "package p\n\nimport \"testing\"\n\nfunc Test(t *testing.T) { untested(1) }\n",
		"q/q.go":      "package q\n\nfunc other(a int) bool { return a != 2 }\n",
		"q/q_test.go": "package q\n\nimport \"testing\"\n\nfunc TestBad(t *testing.T) { t.Fatal(other(1)) }\n",
	})
	t.Chdir(dir)
	var out bytes.Buffer
	err := options{out: &out, jobs: 1, timeout: time.Minute}.start(t.Context(), []string{"p", "q"})
	if err == nil || !strings.HasPrefix(err.Error(), "trying q, package 2 of 2: TestBad of q fails without a change:\n") {
		t.Error(err)
	}
	if !strings.Contains(out.String(), "\n1 changes, 0 noticed, 1 survived (100.0 %), 0 more do not compile\n") {
		t.Errorf("it does not say what was tried:\n%s", out.String())
	}
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
