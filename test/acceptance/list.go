package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

const leaveOut = "leave out"

// expectation is the outcome that a test has to have: pass; skip, when the
// test finds itself that it does not apply; leave out, when it is not run; fail,
// when it is run and cannot pass there. All but the first have a reason.
type expectation struct{ outcome, reason string }

func (e expectation) String() string {
	if e.reason == "" {
		return e.outcome
	}
	return e.outcome + ": " + e.reason
}

// list is the file of a suite: a line "package test outcome" or "package test
// outcome: reason" for each test.
type list map[key]expectation

func readList(path string) (list, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return list{}, nil
	}
	if err != nil {
		return nil, err
	}
	return parseList(string(text))
}

func parseList(text string) (list, error) {
	l := list{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.SplitN(line, " ", 3)
		if len(fields) < 3 {
			return nil, fmt.Errorf("line %q: want package, test and outcome", line)
		}
		outcome, reason, _ := strings.Cut(fields[2], ": ")
		k := key{fields[0], fields[1]}
		switch _, twice := l[k]; {
		case twice:
			return nil, fmt.Errorf("test %s is listed twice", k)
		case !slices.Contains([]string{passed, skipped, failed, leaveOut}, outcome):
			return nil, fmt.Errorf("test %s: unknown outcome %q", k, outcome)
		case outcome != passed && reason == "":
			return nil, fmt.Errorf("test %s: %s without a reason", k, outcome)
		}
		l[k] = expectation{outcome, reason}
	}
	return l, nil
}

func (l list) keys() []key { return slices.SortedFunc(maps.Keys(l), key.compare) }

func (l list) with(outcome string) []key {
	return slices.DeleteFunc(l.keys(), func(k key) bool { return l[k].outcome != outcome })
}

// pattern matches the names of the tests of a package that are left out; empty
// without any.
func (l list) pattern(pkg string) string {
	var names []string
	for _, k := range l.with(leaveOut) {
		if k.pkg == pkg {
			names = append(names, regexp.QuoteMeta(k.test))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// overlaid is the list with what is otherwise on another cloud.
func (l list) overlaid(other list) (list, error) {
	all := maps.Clone(l)
	for k, e := range other {
		if was, known := l[k]; !known || was == e {
			return nil, fmt.Errorf("test %s is not otherwise: the list says %q", k, was)
		}
		all[k] = e
	}
	return all, nil
}

// without is what the list says otherwise than another.
func (l list) without(other list) list {
	differ := list{}
	for k, e := range l {
		if other[k] != e {
			differ[k] = e
		}
	}
	return differ
}

// compare says what differs between the list and a run. A part of the suite
// may miss tests.
func (l list) compare(got results, partial bool) []string {
	var differences []string
	for _, k := range l.keys() {
		v, ran := got[k]
		switch want := l[k].outcome; {
		case want == leaveOut || !ran && partial:
		case !ran:
			differences = append(differences, fmt.Sprintf("%s: expected %s, did not run", k, want))
		case v.outcome != want:
			differences = append(differences, fmt.Sprintf("%s: expected %s, got %s", k, want, v.outcome))
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(got), key.compare) {
		if _, known := l[k]; !known {
			differences = append(differences, fmt.Sprintf("%s: not listed, got %s", k, got[k].outcome))
		}
	}
	return differences
}

// updated is the list with the outcomes of a run. What failed is not put in:
// leaving out needs a reason, which only a person can give.
func (l list) updated(got results) list {
	next := maps.Clone(l)
	for k, v := range got {
		switch v.outcome {
		case passed:
			next[k] = expectation{outcome: passed}
		case skipped:
			next[k] = expectation{skipped, v.reason()}
		}
	}
	return next
}

const head = `# The acceptance tests of %s: package, test, and the
# outcome that it has to have. "skip" is a test that finds itself that it does
# not apply; "leave out" is one that is not run; "fail" is run and cannot pass.
`

func (l list) write(path, title string) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, head, title)
	for _, k := range l.keys() {
		fmt.Fprintln(&text, k, l[k])
	}
	return os.WriteFile(path, text.Bytes(), 0o644)
}
