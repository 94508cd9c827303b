package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// page is the lists for readers: how many tests of each service pass, the
// others with their reasons, and what differs on a real cloud. What skips itself
// does not apply.
func (s suite) page(l, differ list) []byte {
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
	if len(differ) > 0 {
		s.real(&text, l, differ)
	}
	return text.Bytes()
}

// real tells how the outcomes on a real cloud are others than on the sandbox.
func (s suite) real(text *bytes.Buffer, l, differ list) {
	fmt.Fprintf(text, realHead, s.name)
	for _, service := range s.services {
		all, others := l.count(service), differ.count(service)
		fmt.Fprintf(text, "| %s | %d | %d | %d |\n", service.name, all.sum(), all.sum()-others.sum(), others.sum())
	}
	fmt.Fprintf(text, "| all | %d | %d | %d |\n", len(l), len(l)-len(differ), len(differ))
	for _, part := range []struct{ title, outcome string }{{"Passes on the real cloud only", passed}, {"Fails on the real cloud", failed},
		{"Not run on the real cloud", leaveOut}, {"Skips itself on the real cloud", skipped}} {
		differ.section(text, part.title, part.outcome)
	}
}

const realHead = `
# Beside a real OpenStack

    make devcloud-%s

runs the same tests on [an OpenStack of Debian's packages](../devcloud.md). What differs is listed with the reason in ` + "`test/acceptance/%[1]s-real.txt`" + `;
the command fails on any other difference, and when one of these is none any more.

| service | tests | same on both | differ |
|---|--:|--:|--:|
`

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

func (t tally) sum() int { return t.passed + t.leftOut + t.skipped }

func (t tally) row(text *bytes.Buffer, name string) {
	share := "–"
	if applying := t.passed + t.leftOut; applying > 0 {
		share = fmt.Sprintf("%d %%", 100*t.passed/applying)
	}
	fmt.Fprintf(text, "| %s | %d | %d | %d | %d | %s |\n", name, t.sum(), t.passed, t.leftOut, t.skipped, share)
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
