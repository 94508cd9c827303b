package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tests is a package whose tests skip in several ways.
const tests = `package p

import (
	"maps"
	"os"
	"testing"
)

func bundle(t *testing.T) { skip(t) }

func skip(t *testing.T) {
	if os.Getenv("SLIPWAY_BUNDLE") == "" {
		t.Skip("SLIPWAY_BUNDLE names no bundle")
	}
}

// TestQuick needs nothing.
//
// PROVES: F10, M-C7
func TestQuick(t *testing.T) {}

func TestReal(t *testing.T) {
	bundle(t)
	t.Run("part", func(t *testing.T) {
		// PROVES: F2
	})
}

func TestSlow(t *testing.T) {
	if os.Getenv("SLIPWAY_PROOFS") == "" {
		t.Skip("set SLIPWAY_PROOFS=1")
	}
}
`

func sourceOf(t *testing.T, text string) *source {
	t.Helper()
	dir := t.TempDir()
	text = strings.ReplaceAll(text, "PROVES", "proves") // here it would be a claim
	file := filepath.Join(dir, "addons", "p", "p_test.go")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	// What Git ignores is of others, who may have tests that this would not understand.
	built := filepath.Join(dir, "bin", "x_test.go")
	if err := errors.Join(os.Mkdir(filepath.Dir(built), 0o755), os.WriteFile(built, []byte("not Go"), 0o600), os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("/bin/\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	s, err := read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func commandsOf(t *testing.T, targets map[string]string) []command {
	t.Helper()
	var all []command
	for _, p := range parts() {
		found, err := parseCommands(targets[p.target], p)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

func TestWhatNothingRunsIsFound(t *testing.T) {
	t.Parallel()
	s := sourceOf(t, tests)
	if have := packages(s.needing("SLIPWAY_PROOFS")); !slices.Equal(have, []string{"./addons/p"}) {
		t.Errorf("packages %v", have)
	}
	given := []string{"SLIPWAY_BUNDLE", "SLIPWAY_OTHER"}
	if have := names(s.real(given, []string{"addons"})); !slices.Equal(have, []string{"TestReal"}) {
		t.Errorf("tests that need a bundle: %q", have)
	}
	if have := s.real(given, []string{"addon"}); len(have) > 0 {
		t.Errorf("tests of another folder %v", names(have))
	}
	if have := s.real(given[1:], []string{"addons"}); len(have) > 0 {
		t.Errorf("tests that would be skipped: %v", names(have))
	}
	targets := map[string]string{"test": "go vet ./...\ngo test ./...\n", "e2e": "cd x && SLIPWAY_BUNDLE=/b go test -count=1 -p 1 \\\n ./addons/p"}
	all := commandsOf(t, targets)
	if missing := nowhere(s, all); len(missing) != 1 || !strings.Contains(missing[0], "TestSlow with SLIPWAY_PROOFS") {
		t.Errorf("missing %v", missing)
	}
	for says, command := range map[string]string{
		"another package":  "SLIPWAY_PROOFS=1 go test ./addons/other",
		"another name":     "SLIPWAY_PROOFS=1 go test -run 'TestReal|TestQuick' ./addons/p",
		"left out":         "SLIPWAY_PROOFS=1 go test -skip TestSlow -v ./addons/p",
		"without a value":  "SLIPWAY_PROOFS= go test ./addons/p",
		"another variable": "SLIPWAY_BUNDLE=/b go test ./addons/p",
	} {
		targets["guarded-programs"] = command
		if len(nowhere(s, commandsOf(t, targets))) != 1 {
			t.Errorf("%s runs TestSlow: %s", says, command)
		}
	}
	targets["guarded-programs"] = "SLIPWAY_PROOFS=1 go test -timeout 9m -run TestSlow ./addons/..."
	if missing := nowhere(s, commandsOf(t, targets)); len(missing) > 0 {
		t.Errorf("missing %v", missing)
	}
}

// A file behind a build tag that no command passes is compiled by nobody.
func TestATagThatNothingPassesIsFound(t *testing.T) {
	t.Parallel()
	for built, commands := range map[string]map[string]int{
		"bench":                  {"go test ./...": 3, "go test -tags bench ./...": 0, "go test -tags=other ./...": 3, "go test -tags other,bench ./...": 0},
		"!bench":                 {"go test ./...": 0, "go test -tags bench ./...": 3},
		"unix && !windows":       {"go test ./...": 0},
		"linux || bench":         {"go test ./...": 0},
		"windows":                {"go test ./...": 3},
		"go1.20 && (bench || x)": {"go test ./...": 3, "go test -tags x ./...": 0},
	} {
		s := sourceOf(t, "// Comment.\n\n//go:build "+built+"\n\n"+tests)
		for line, want := range commands {
			line = "SLIPWAY_BUNDLE=/b SLIPWAY_PROOFS=1 " + line
			missing := nowhere(s, commandsOf(t, map[string]string{"bench-fleet": line}))
			if len(missing) != want || want > 0 && !strings.HasSuffix(missing[0], "-tags for "+built) {
				t.Errorf("%s with %s: %q", line, built, missing)
			}
		}
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	s := sourceOf(t, tests)
	all := commandsOf(t, map[string]string{"test": "go test ./...", "bench-fleet": "SLIPWAY_BUNDLE=/b go test ./addons/p"})
	rows, problems := claimed(s, all)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	text := page(rows, []pass{{Part: "test", Commit: "abc", Date: "2026-01-02", Result: passed}})
	var have []string
	for line := range strings.Lines(text[strings.Index(text, "## Rows"):]) {
		if strings.Contains(line, "](") {
			have = append(have, strings.TrimSpace(line))
		}
	}
	want := []string{
		"| F2 | [TestReal](../addons/p/p_test.go) in addons/p | `make bench-fleet` | **by hand** | - |",
		"| F10 | [TestQuick](../addons/p/p_test.go) in addons/p | `make test` | CI | 2026-01-02 at abc |",
		"| M-C7 | [TestQuick](../addons/p/p_test.go) in addons/p | `make test` | CI | 2026-01-02 at abc |",
	}
	if !slices.Equal(have, want) {
		t.Errorf("have\n%s\nwant\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
	if later := page(rows, nil); later == text || !bytes.Equal(undated([]byte(later)), undated([]byte(text))) {
		t.Error("a pass changes more than the last column")
	}
	delete(rows, "F10")
	if bytes.Equal(undated([]byte(page(rows, nil))), undated([]byte(text))) {
		t.Error("a claim less is not seen")
	}
	if _, problems := claimed(s, nil); len(problems) != 2 {
		t.Errorf("claims that nothing runs: %v", problems)
	}
}

func TestWhatCannotBeUnderstood(t *testing.T) {
	t.Parallel()
	s := sourceOf(t, `package p

// proves: F10, that it works
func TestA(t *testing.T) {
	if os.Getenv("X") == "" {
		t.Skip("not today")
	}
}
`)
	if len(s.problems) != 2 || !strings.Contains(strings.Join(s.problems, "\n"), `"that it works", which is no id`) {
		t.Errorf("%q", s.problems)
	}
}

func TestRunGoesOnAfterAFailure(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-q", "--allow-empty", "-m", "x"}} {
		if _, err := git(root, args...); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	var started []string
	broken := errors.New("exit status 2")
	p := &proofs{root: root, passes: filepath.Join(root, "proofs.json"), logs: filepath.Join(root, "logs"), out: &out,
		start: func(_ context.Context, target string, out io.Writer) error {
			started = append(started, target)
			_, _ = io.WriteString(out, "output of "+target)
			if target == "fuzz" {
				return broken
			}
			return nil
		}}
	list, unknown := choose([]string{"fuzz", "mutate"})
	if len(unknown) > 0 {
		t.Fatal(unknown)
	}
	if err := p.run(t.Context(), list); err == nil || err.Error() != "failed: fuzz" {
		t.Errorf("%v", err)
	}
	if !slices.Equal(started, []string{"fuzz", "mutate"}) {
		t.Errorf("started %v", started)
	}
	if log, err := os.ReadFile(filepath.Join(root, "logs", "mutate.log")); err != nil || string(log) != "output of mutate" {
		t.Errorf("%q %v", log, err)
	}
	passes, err := readPasses(p.passes)
	if err != nil || len(passes) != 2 || passes[0].Result != failed || passes[1].Result != passed || len(passes[1].Commit) < 12 {
		t.Errorf("%+v %v", passes, err)
	}
	if last(passes, "fuzz") != "-" || !strings.HasSuffix(last(passes, "mutate"), " at "+passes[1].Commit) {
		t.Errorf("last %s, %s", last(passes, "fuzz"), last(passes, "mutate"))
	}
	broken = nil
	if err := p.run(t.Context(), list); err != nil {
		t.Error(err)
	}
	if passes, err = readPasses(p.passes); err != nil || len(passes) != 2 || passes[0].Result != passed {
		t.Errorf("a pass takes the place of the failure: %+v %v", passes, err)
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	list, _ := choose(nil)
	if slices.ContainsFunc(list, func(p part) bool { return p.ci }) || len(list) == 0 {
		t.Errorf("without names %v", list)
	}
	if _, unknown := choose([]string{"test", "nothing"}); !slices.Equal(unknown, []string{"nothing"}) {
		t.Errorf("unknown %v", unknown)
	}
}

// names are those of tests.
func names(tests []*function) []string {
	found := map[string]bool{}
	for _, f := range tests {
		found[f.name] = true
	}
	return slices.Sorted(maps.Keys(found))
}
