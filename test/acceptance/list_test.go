package main

import (
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
)

const sample = `# a comment
image/v2 TestA pass
image/v2 TestB skip: needs an extension
image/v2 TestC leave out: needs the internet
`

func parsed(t *testing.T, text string) list {
	t.Helper()
	l, err := parseList(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestParseListRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"image/v2 TestA", "image/v2 TestA maybe", "image/v2 TestA skip", "image/v2 TestA fail", "image/v2 TestA leave out",
		"image/v2 TestA pass\nimage/v2 TestA pass"} {
		if _, err := parseList(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func TestOverlaid(t *testing.T) {
	t.Parallel()
	onSandbox := parsed(t, sample)
	differ := parsed(t, "image/v2 TestA fail: no service runs\nimage/v2 TestB pass\n")
	got, err := onSandbox.overlaid(differ)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"TestA": "fail: no service runs", "TestB": passed, "TestC": "leave out: needs the internet"} {
		if e := got[key{"image/v2", name}]; e.String() != want {
			t.Errorf("%s: %s, want %s", name, e, want)
		}
	}
	if back := got.without(onSandbox); !maps.Equal(back, differ) {
		t.Errorf("what differs is %v", back)
	}
	for _, text := range []string{"image/v2 TestD pass", "image/v2 TestA pass"} {
		if _, err := onSandbox.overlaid(parsed(t, text)); err == nil {
			t.Errorf("%q differs in nothing, and was taken", text)
		}
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	a, b, c := key{"image/v2", "TestA"}, key{"image/v2", "TestB"}, key{"image/v2", "TestC"}
	for name, test := range map[string]struct {
		got     results
		partial bool
		want    []string
	}{
		"as listed":       {got: results{a: {outcome: passed}, b: {outcome: skipped}}},
		"one fails":       {got: results{a: {outcome: failed}, b: {outcome: skipped}}, want: []string{"image/v2 TestA: expected pass, got fail"}},
		"one skips":       {got: results{a: {outcome: skipped}, b: {outcome: skipped}}, want: []string{"image/v2 TestA: expected pass, got skip"}},
		"one runs now":    {got: results{a: {outcome: passed}, b: {outcome: passed}}, want: []string{"image/v2 TestB: expected skip, got pass"}},
		"one is missing":  {got: results{a: {outcome: passed}}, want: []string{"image/v2 TestB: expected skip, did not run"}},
		"a part":          {got: results{a: {outcome: passed}}, partial: true},
		"left out passes": {got: results{a: {outcome: passed}, b: {outcome: skipped}, c: {outcome: passed}}},
		"one is new": {got: results{a: {outcome: passed}, b: {outcome: skipped}, {"image/v2", "TestD"}: {outcome: passed}},
			want: []string{"image/v2 TestD: not listed, got pass"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := parsed(t, sample).compare(test.got, test.partial); !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// A test that fails never enters the list by itself, and one that is left out
// keeps its reason.
func TestUpdated(t *testing.T) {
	t.Parallel()
	next := parsed(t, sample).updated(results{{"image/v2", "TestA"}: {outcome: failed}, {"image/v2", "TestD"}: {outcome: failed},
		{"image/v2", "TestB"}: {outcome: skipped, output: []string{"=== RUN\n", "    b_test.go:7: another reason\n", "--- SKIP: TestB\n"}}})
	var lines []string
	for _, k := range next.keys() {
		lines = append(lines, k.String()+" "+next[k].String())
	}
	want := []string{"image/v2 TestA pass", "image/v2 TestB skip: another reason", "image/v2 TestC leave out: needs the internet"}
	if !slices.Equal(lines, want) {
		t.Errorf("%q, want %q", lines, want)
	}
}

func TestPatternIsOfOnePackage(t *testing.T) {
	t.Parallel()
	l := parsed(t, sample)
	if got := l.pattern("image/v2"); got != "^(TestC)$" {
		t.Errorf("pattern %q", got)
	}
	if got := l.pattern("compute/v2"); got != "" {
		t.Errorf("pattern %q of a package without tests left out", got)
	}
}

// A test that never ends, as after a panic of another, counts as failed.
func TestReadResults(t *testing.T) {
	t.Parallel()
	event := func(action, test, output string) string {
		return `{"Action":"` + action + `","Package":"example.com/root/image/v2","Test":"` + test + `","Output":"` + output + `"}` + "\n"
	}
	got, err := readResults(strings.NewReader(event("run", "TestA", "")+event("run", "TestA/sub", "")+event("fail", "TestA/sub", "")+
		event("pass", "TestA", "")+event("run", "TestB", "")+event("output", "TestB", `must be a non-admin\n`)+event("skip", "TestB", "")+
		event("run", "TestC", "")+event("fail", "", "")), "example.com/root/", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for test, want := range map[string]string{"TestA": passed, "TestB": skipped, "TestC": failed} {
		if v := got[key{"image/v2", test}]; v.outcome != want {
			t.Errorf("%s: %s, want %s", test, v.outcome, want)
		}
	}
	if packages, names := got.skipped("must be a non-admin"); len(packages) != 1 || !slices.Equal(names, []string{"TestB"}) {
		t.Errorf("skipped: %v %v", packages, names)
	}
	if _, err := readResults(strings.NewReader("no JSON"), "", io.Discard); err == nil {
		t.Error("what is no JSON was read")
	}
}
