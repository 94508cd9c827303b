package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// page is the list for readers: how many tests of each service pass, and the
// others with their reasons. What skips itself does not apply.
func (l list) page() []byte {
	var text bytes.Buffer
	text.WriteString(`# gophercloud's acceptance tests

The acceptance tests of [gophercloud](https://github.com/gophercloud/gophercloud) run unchanged against the sandbox, with the version of go.mod:

    make gophercloud-acceptance

A test applies unless it skips itself; "left out" are those that would fail, with the reason. The command fails when the outcome of any test
is not the one of this page, which is written from ` + "`test/acceptance/gophercloud/expected.txt`" + `.

| service | tests | pass | left out | skip themselves | of those that apply |
|---|--:|--:|--:|--:|--:|
`)
	var all tally
	for _, s := range services {
		t := l.count(s.folder)
		all.add(t)
		t.row(&text, s.name)
	}
	all.row(&text, "all")
	l.section(&text, "Left out", leaveOut)
	l.section(&text, "Skip themselves", skipped)
	return text.Bytes()
}

type tally struct{ passed, leftOut, skipped int }

func (t *tally) add(other tally) {
	t.passed, t.leftOut, t.skipped = t.passed+other.passed, t.leftOut+other.leftOut, t.skipped+other.skipped
}

func (t tally) row(text *bytes.Buffer, name string) {
	share := "–"
	if applying := t.passed + t.leftOut; applying > 0 {
		share = fmt.Sprintf("%d %%", 100*t.passed/applying)
	}
	fmt.Fprintf(text, "| %s | %d | %d | %d | %d | %s |\n", name, t.passed+t.leftOut+t.skipped, t.passed, t.leftOut, t.skipped, share)
}

func (l list) count(folder string) tally {
	var t tally
	for k, e := range l {
		if !strings.HasPrefix(k.pkg, folder) {
			continue
		}
		switch e.outcome {
		case passed:
			t.passed++
		case skipped:
			t.skipped++
		default:
			t.leftOut++
		}
	}
	return t
}

// section lists the tests with one outcome, those of one reason together.
func (l list) section(text *bytes.Buffer, title, outcome string) {
	tests := map[string][]string{}
	var order []string
	for _, k := range l.with(outcome) {
		row := k.pkg + " | " + l[k].reason
		tests[row] = append(tests[row], k.test)
		if !slices.Contains(order, row) {
			order = append(order, row)
		}
	}
	if len(order) == 0 {
		return
	}
	fmt.Fprintf(text, "\n## %s\n\n| package | reason | tests |\n|---|---|---|\n", title)
	for _, row := range order {
		fmt.Fprintf(text, "| %s | %s |\n", row, strings.Join(tests[row], ", "))
	}
}
