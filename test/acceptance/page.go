package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// page is the list for readers: how many tests of each service pass, and the
// others with their reasons. What skips itself does not apply.
func (s suite) page(l list) []byte {
	var text bytes.Buffer
	fmt.Fprintf(&text, pageHead, s.title, s.about, s.name)
	var all tally
	for _, service := range s.services {
		t := l.count(service)
		all.add(t)
		t.row(&text, service.name)
	}
	all.row(&text, "all")
	l.section(&text, "Left out", leaveOut)
	l.section(&text, "Skip themselves", skipped)
	return text.Bytes()
}

const pageHead = `# %[1]s

%[2]s

    make %[3]s-acceptance

A test applies unless it skips itself; "left out" are those that would fail, with the reason. The command fails when the outcome of any test
is not the one of this page, which is written from ` + "`test/acceptance/%[3]s.txt`" + `.

| service | tests | pass | left out | skip themselves | of those that apply |
|---|--:|--:|--:|--:|--:|
`

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

func (l list) count(s service) tally {
	var t tally
	for k, e := range l {
		if !s.has(k) {
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
